// Follows the rows of a sparse matrix to their leaves (predict.hpp).
#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

#include "hardwood/gather.hpp"
#include "hardwood/predict.hpp"

namespace hardwood {
namespace {

constexpr std::size_t kBitsAnEntry =
    16;  // so one lookup in 16 of a column without an entry goes on
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
  const Filter filter = filters_[row];
  const std::uint32_t bit = bit_of(column) & filter.mask;
  if (!(words_[filter.first_word + bit / kWordBits] >> bit % kWordBits & 1)) return T{0};
  const auto first = X_.columns.begin() + X_.starts[row];
  const auto last = X_.columns.begin() + X_.starts[row + 1];
  const auto found = std::lower_bound(first, last, static_cast<std::int32_t>(column));
  const bool is_stored = found != last && static_cast<std::uint32_t>(*found) == column;
  return is_stored ? X_.values[static_cast<std::size_t>(found - X_.columns.begin())] : T{0};
}

// All rows go down one step at a time, so that no step waits for another row's.
template <class T>
void SparseRows<T>::find_leaves(const Branches& tree, std::span<const std::uint32_t> rows,
                                std::uint32_t* leaves) const {
  if (!tree.set_words.empty())
    throw std::invalid_argument("trees that split by categories take no sparse X");
  std::array<std::uint32_t, kMostRows> walking;
  for (std::uint32_t i = 0; i < rows.size(); ++i) walking[i] = i;
  std::fill_n(leaves, rows.size(), 0u);
  for (std::size_t n = rows.size(); n > 0;) {
    std::size_t still_walking = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const std::uint32_t i = walking[j];
      const Node& node = tree.nodes[leaves[i]];
      if (node.is_leaf()) continue;
      const T x = value(rows[i], static_cast<std::uint32_t>(node.feature));
      const bool goes_left =
          static_cast<double>(x) <= node.threshold || (x != x && node.missing_left());
      leaves[i] = goes_left ? leaves[i] + 1 : node.right();
      prefetch(tree.nodes + leaves[i]);
      walking[still_walking++] = i;
    }
    n = still_walking;
  }
}

template class SparseRows<float>;
template class SparseRows<double>;

}  // namespace hardwood
