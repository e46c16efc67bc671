// Follows the rows of a sparse matrix to their leaves (predict.hpp).
#include <algorithm>
#include <bit>
#include <stdexcept>

#include "hardwood/predict.hpp"

namespace hardwood {
namespace {

constexpr std::size_t kBitsAnEntry = 32;  // at most one column in 32 without an entry has its bit
constexpr std::uint32_t kWordBits = 64;

// Neighbouring columns are often in the same rows: their bits lie apart.
std::uint32_t bit_of(std::uint32_t column) { return column * 2654435769u >> 8; }

}  // namespace

template <class T>
SparseRows<T>::SparseRows(const SparseView<T>& X) : X_(X) {
  X.check();
  filters_.resize(X.n_rows);
  std::size_t n_words = 0;
  for (std::size_t row = 0; row < X.n_rows; ++row) {
    const auto n_entries = static_cast<std::size_t>(X.starts[row + 1] - X.starts[row]);
    const std::size_t n_bits = std::bit_ceil(std::max<std::size_t>(kBitsAnEntry * n_entries, 1));
    filters_[row] = {n_words,
                     static_cast<std::uint32_t>(std::min<std::size_t>(n_bits, 1u << 24)) - 1};
    n_words += filters_[row].mask / kWordBits + 1;
  }
  words_.assign(n_words, 0);
  for (std::size_t row = 0; row < X.n_rows; ++row)
    for (auto i = X.starts[row]; i < X.starts[row + 1]; ++i) {
      const auto column = static_cast<std::uint32_t>(X.columns[static_cast<std::size_t>(i)]);
      const std::uint32_t bit = bit_of(column) & filters_[row].mask;
      words_[filters_[row].first_word + bit / kWordBits] |= std::uint64_t{1} << bit % kWordBits;
    }
}

template <class T>
std::size_t SparseRows<T>::bytes_of_row() const {
  const std::size_t bytes = X_.values.size() * (sizeof(T) + 4) + words_.size() * 8;
  return bytes / std::max<std::size_t>(1, X_.n_rows) + 1;
}

template <class T>
T SparseRows<T>::value(std::uint32_t row, std::uint32_t column) const {
  const auto wanted = static_cast<std::int32_t>(column);
  std::size_t first = static_cast<std::size_t>(X_.starts[row]);
  for (auto n = static_cast<std::size_t>(X_.starts[row + 1]) - first; n > 1;) {
    const std::size_t half = n / 2;  // the one that is wanted may be any, so no branch guesses well
    first += X_.columns[first + half] <= wanted ? half : 0;
    n -= half;
  }
  return X_.columns[first] == wanted ? X_.values[first] : T{0};
}

// One row at a time. Most columns of a row have no entry, so most steps go to the child for zeros,
// which the processor guesses: it need not wait for a node to know the next one. The left child
// even stands next to its parent.
template <class T>
void SparseRows<T>::find_leaves(const Branches& tree, std::span<const std::uint32_t> rows,
                                std::uint32_t* leaves) const {
  if (!tree.set_words.empty())
    throw std::invalid_argument("trees that split by categories take no sparse X");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Filter filter = filters_[rows[i]];
    const std::uint64_t* words = words_.data() + filter.first_word;
    std::uint32_t at = 0;
    for (const Node* node = tree.nodes; !node->is_leaf(); node = tree.nodes + at) {
      const auto column = static_cast<std::uint32_t>(node->feature);
      const std::uint32_t bit = bit_of(column) & filter.mask;
      if (words[bit / kWordBits] >> bit % kWordBits & 1) [[unlikely]] {
        const T x = value(rows[i], column);
        const bool goes_left =
            static_cast<double>(x) <= node->threshold || (x != x && node->missing_left());
        at = goes_left ? at + 1 : node->right();
      } else if (0 <= node->threshold) [[likely]] {
        ++at;
      } else {
        at = node->right();
      }
    }
    leaves[i] = at;
  }
}

template class SparseRows<float>;
template class SparseRows<double>;

}  // namespace hardwood
