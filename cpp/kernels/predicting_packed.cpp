// Packs trees, and takes rows down packed trees (packed_trees.hpp).
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "hardwood/gather.hpp"
#include "hardwood/packed_trees.hpp"
#include "hardwood/predict.hpp"

namespace hardwood {
namespace {

// A row on its way down a tree.
struct Walker {
  std::uint32_t at;
  std::uint32_t number;
};

// All rows go down one step at a time, and those that have arrived leave the list: no step waits
// for another row's, no branch depends on where a row goes, and the next node of a row is fetched
// from memory while the other rows take their step. Values decide in place of their keys where
// is_above(row, feature, node) is asked: where keys of float64 are equal.
template <KeyKind kind, class Key, class IsAbove>
void walk(const PackedTree& tree, const Key* keys, std::ptrdiff_t stride, std::size_t n_rows,
          std::uint32_t* entries, const IsAbove& is_above) {
  const std::uint32_t feature_mask = (1u << tree.feature_bits) - 1;
  const int child_shift = tree.feature_bits + 1;
  std::array<Walker, kMostRows> walkers;
  for (std::size_t i = 0; i < n_rows; ++i) walkers[i] = {0, static_cast<std::uint32_t>(i)};
  for (std::size_t walking = n_rows; walking > 0;) {
    std::size_t still_walking = 0;
    for (std::size_t j = 0; j < walking; ++j) {
      const Walker walker = walkers[j];
      const PackedNode node = tree.nodes[walker.at];
      entries[walker.number] = static_cast<std::uint32_t>(node.threshold);
      const std::uint32_t feature = node.next >> 1 & feature_mask;
      std::int32_t key = keys[static_cast<std::ptrdiff_t>(walker.number) * stride + feature];
      if constexpr (kind != KeyKind::whole)
        key = static_cast<std::int32_t>(static_cast<std::uint32_t>(key) + (node.next & 1));
      bool goes_right = key > node.threshold;
      if constexpr (kind == KeyKind::float64)
        if (key == node.threshold) [[unlikely]]
          goes_right = is_above(walker.number, feature, tree.stored(walker.at));
      const std::uint32_t left = node.next >> child_shift;
      const std::uint32_t child = left + goes_right;
      prefetch(tree.nodes + child);
      walkers[still_walking] = {child, walker.number};
      still_walking += left != walker.at;  // a leaf names itself
    }
    walking = still_walking;
  }
}

// Rows whose numbers are keys as they are.
template <class T>
class OwnKeys final : public KeyedRows {
 public:
  OwnKeys(const MatrixView<T>& X, std::size_t first, std::size_t last)
      : keys_(X.data + static_cast<std::ptrdiff_t>(first) * X.row_stride),
        stride_(X.row_stride),
        n_rows_(last - first) {}

  void find_leaves(const PackedTree& tree, std::uint32_t* entries) const override {
    walk<KeyKind::whole>(tree, keys_, stride_, n_rows_, entries, nullptr);
  }

 private:
  const T* keys_;
  std::ptrdiff_t stride_;
  std::size_t n_rows_;
};

// Rows whose keys are written down first.
template <class T>
class WrittenKeys final : public KeyedRows {
 public:
  WrittenKeys(const MatrixView<T>& X, std::size_t first, std::size_t last)
      : X_(X), first_(first), n_rows_(last - first), keys_(n_rows_ * X.n_columns) {
    const std::size_t n_columns = X.n_columns;
    if (X.row_stride == 1) {
      for (std::size_t column = 0; column < n_columns; ++column)
        for (std::size_t i = 0; i < n_rows_; ++i)
          keys_[i * n_columns + column] = key(X.at(first + i, column));
    } else {
      // A stride that is known to be 1 is one that vector instructions can take.
      auto write_rows = [&](auto column_stride) {
        for (std::size_t i = 0; i < n_rows_; ++i) {
          const T* row = X.data + static_cast<std::ptrdiff_t>(first + i) * X.row_stride;
          std::int32_t* out = keys_.data() + i * n_columns;
          for (std::size_t column = 0; column < n_columns; ++column)
            out[column] = key(row[static_cast<std::ptrdiff_t>(column) * column_stride]);
        }
      };
      if (X.column_stride == 1)
        write_rows(std::integral_constant<std::ptrdiff_t, 1>());
      else
        write_rows(X.column_stride);
    }
  }

  // Whether the keys are those of the values: large whole numbers have none.
  bool are_exact() const {
    if constexpr (std::is_integral_v<T> && sizeof(T) >= sizeof(std::int32_t)) {
      for (std::size_t i = 0; i < n_rows_; ++i)
        for (std::size_t column = 0; column < X_.n_columns; ++column)
          if (!has_key(X_.at(first_ + i, column))) return false;
    }
    return true;
  }

  void find_leaves(const PackedTree& tree, std::uint32_t* entries) const override {
    const auto stride = static_cast<std::ptrdiff_t>(X_.n_columns);
    walk<key_kind<T>()>(tree, keys_.data(), stride, n_rows_, entries,
                        [this](std::size_t row, std::uint32_t feature, const Node& node) {
                          return static_cast<double>(X_.at(first_ + row, feature)) > node.threshold;
                        });
  }

 private:
  static std::int32_t key(T value) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<std::int32_t>(value);
    else
      return key_of(static_cast<float>(value));
  }

  // The least whole number has none: no threshold could lie below it.
  static bool has_key(T value) {
    constexpr auto most = std::numeric_limits<std::int32_t>::max();
    return std::cmp_less_equal(value, most) && std::cmp_greater_equal(value, -most);
  }

  MatrixView<T> X_;
  std::size_t first_, n_rows_;
  Buffer<std::int32_t> keys_;
};

}  // namespace

template <class Count>
bool PackedTrees<Count>::is_worthwhile(std::size_t t) const {
  const auto n_nodes = static_cast<std::size_t>(forest_.node_start[t + 1] - forest_.node_start[t]);
  return forest_.sets.of_tree(t).empty() && n_nodes <= kNodesPerRow * n_rows_ &&
         static_cast<int>(std::bit_width(n_nodes)) + feature_bits_ + 1 <= 32;
}

template <class Count>
std::size_t PackedTrees<Count>::pack(std::size_t first, int n_threads, const Poll& poll) {
  first_ = first;
  node_start_.assign(1, 0);
  entry_start_.assign(1, 2 * forest_.n_classes);
  if (kind_ == KeyKind::none) return forest_.n_trees();
  std::size_t last = first;
  for (; last < forest_.n_trees(); ++last) {
    std::size_t n_nodes = 0, n_entries = 0;
    if (is_worthwhile(last)) {
      n_nodes = static_cast<std::size_t>(forest_.node_start[last + 1] - forest_.node_start[last]);
      n_entries =
          static_cast<std::size_t>(forest_.entry_start[last + 1] - forest_.entry_start[last]);
      if (!empty() &&
          std::max(node_start_.back() + n_nodes, entry_start_.back() + n_entries) >= most_nodes_)
        break;
      ++n_nodes;  // pairs start at even places, and so the one beside the root is left out
    }
    node_start_.push_back(node_start_.back() + n_nodes);
    entry_start_.push_back(entry_start_.back() + n_entries);
  }
  if (empty()) return last;
  nodes_.resize(node_start_.back());
  entries_.resize(entry_start_.back());
  if (kind_ == KeyKind::float64) splits_.resize(node_start_.back() / 2 + 1);
  for (std::uint32_t label = 0; label < forest_.n_classes; ++label) {
    entries_[2 * label] = {1, label, 0};
    entries_[2 * label + 1] = {0, label, 0};
  }
  parallel_for(last - first, n_threads, poll, [&](std::size_t i, const Poll& own_poll) {
    if (node_start_[i] == node_start_[i + 1]) return;
    switch (kind_) {
      case KeyKind::none:
        break;
      case KeyKind::whole:
        pack_tree<KeyKind::whole>(first + i);
        break;
      case KeyKind::float32:
        pack_tree<KeyKind::float32>(first + i);
        break;
      case KeyKind::float64:
        pack_tree<KeyKind::float64>(first + i);
    }
    own_poll();
  });
  return last;
}

template <class Count>
template <KeyKind kind>
void PackedTrees<Count>::pack_tree(std::size_t t) {
  const Node* const tree = forest_.tree(t);
  const auto n_nodes = static_cast<std::size_t>(forest_.node_start[t + 1] - forest_.node_start[t]);
  const std::uint16_t* const labels = forest_.entry_label.data() + forest_.entry_start[t];
  const Count* const counts = forest_.entry_count.data() + forest_.entry_start[t];
  PackedNode* const nodes = nodes_.data() + node_start_[t - first_];
  std::uint32_t* const splits =
      kind == KeyKind::float64 ? splits_.data() + node_start_[t - first_] / 2 : nullptr;
  PackedEntry* const entries = entries_.data();
  auto next_entry = static_cast<std::uint32_t>(entry_start_[t - first_]);
  const int shift = feature_bits_ + 1;

  // Nodes stand in depth-first order. The children of each split get the next pair of places, and
  // those of right children wait until the left ones and all below them have theirs. Half of the
  // nodes are leaves, so no branch depends on that.
  Buffer<std::uint32_t> waiting(n_nodes / 2 + 2);
  waiting[0] = 0;  // for the last leaf
  std::uint32_t* last_waiting = waiting.data();
  std::uint32_t place = 0, pair = 2;
  for (std::size_t i = 0; i < n_nodes; ++i) {
    const Node node = tree[i];
    const bool is_leaf = node.is_leaf();
    const std::uint32_t missing_left = kind != KeyKind::whole && !is_leaf && node.missing_left();
    const std::int32_t key = key_of_threshold<kind>(is_leaf ? 0 : node.threshold);
    std::uint32_t entry = 2 * std::uint32_t{labels[is_leaf ? node.first_entry() : 0]};
    if (is_leaf & (node.n_entries() > 1)) [[unlikely]] {
      entry = next_entry;
      const std::uint32_t first = node.first_entry(), last = first + node.n_entries();
      double total = 0;
      for (std::uint32_t e = first; e < last; ++e) total += static_cast<double>(counts[e]);
      for (std::uint32_t e = first; e < last; ++e)
        entries[next_entry++] = {static_cast<double>(counts[e]) / total, labels[e], last - 1 - e};
    }
    const std::uint32_t feature_and_side =
        is_leaf ? 0 : static_cast<std::uint32_t>(node.feature) << 1 | missing_left;
    nodes[place] = {
        is_leaf ? static_cast<std::int32_t>(entry) : key + static_cast<std::int32_t>(missing_left),
        (is_leaf ? place : pair) << shift | feature_and_side};
    if constexpr (kind == KeyKind::float64)
      splits[is_leaf ? 0 : pair / 2] = static_cast<std::uint32_t>(i);
    last_waiting[1] = pair + 1;
    place = is_leaf ? *last_waiting : pair;
    pair += is_leaf ? 0 : 2;
    last_waiting += is_leaf ? -1 : 1;
  }
}

template class PackedTrees<std::uint16_t>;
template class PackedTrees<std::uint32_t>;
template class PackedTrees<double>;

template <class T>
std::unique_ptr<KeyedRows> MatrixRows<T>::keyed(std::size_t first, std::size_t last) const {
  if constexpr (std::is_integral_v<T> && sizeof(T) <= 2)
    if (X_.column_stride == 1) return std::make_unique<OwnKeys<T>>(X_, first, last);
  auto keys = std::make_unique<WrittenKeys<T>>(X_, first, last);
  if (!keys->are_exact()) return nullptr;
  return keys;
}

template std::unique_ptr<KeyedRows> MatrixRows<float>::keyed(std::size_t, std::size_t) const;
template std::unique_ptr<KeyedRows> MatrixRows<double>::keyed(std::size_t, std::size_t) const;
template std::unique_ptr<KeyedRows> MatrixRows<std::uint8_t>::keyed(std::size_t, std::size_t) const;
template std::unique_ptr<KeyedRows> MatrixRows<std::int8_t>::keyed(std::size_t, std::size_t) const;
template std::unique_ptr<KeyedRows> MatrixRows<std::uint16_t>::keyed(std::size_t,
                                                                     std::size_t) const;
template std::unique_ptr<KeyedRows> MatrixRows<std::int16_t>::keyed(std::size_t, std::size_t) const;
template std::unique_ptr<KeyedRows> MatrixRows<std::uint32_t>::keyed(std::size_t,
                                                                     std::size_t) const;
template std::unique_ptr<KeyedRows> MatrixRows<std::int32_t>::keyed(std::size_t, std::size_t) const;
template std::unique_ptr<KeyedRows> MatrixRows<std::uint64_t>::keyed(std::size_t,
                                                                     std::size_t) const;
template std::unique_ptr<KeyedRows> MatrixRows<std::int64_t>::keyed(std::size_t, std::size_t) const;

}  // namespace hardwood
