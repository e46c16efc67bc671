#include <array>
#include <bit>
#include <numeric>
#include <vector>

#include "hardwood/gather.hpp"
#include "hardwood/predict.hpp"

namespace hardwood {
namespace {

// The child that a value goes to, without a branch to mispredict.
template <class T>
std::uint32_t child_of(const Node& node, std::uint32_t number, T value) {
  const bool goes_left =
      (static_cast<double>(value) <= node.threshold) | ((value != value) & node.missing_left());
  const std::uint32_t left = 0u - goes_left;
  return ((number + 1) & left) | (node.right() & ~left);
}

// The number of a category, or one that no set has. The bits of doubles that are not negative are
// in the order of their values, and those of all others and of NaN are above them.
inline std::uint32_t category_of(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t is_one = bits < std::bit_cast<std::uint64_t>(double{kMaxCategories});
  const auto number = static_cast<std::int32_t>(std::bit_cast<double>(bits & (0 - is_one)));
  return static_cast<std::uint32_t>(number) | (static_cast<std::uint32_t>(is_one) - 1);
}

// The same for a node that may split by a set of categories, with its words in `set_words`.
template <class T>
std::uint32_t child_of(const Node& node, std::uint32_t number, T value,
                       const std::uint32_t* set_words) {
  const Node::SetPlace place = node.set_place();
  const std::uint32_t category = category_of(static_cast<double>(value));
  const std::uint32_t word = category / kSetBits - place.first_word;  // large if before the first
  const std::uint32_t is_set = node.is_set(), is_missing = value != value;
  const std::uint32_t is_inside = is_set & (word < place.n_words);
  const std::uint32_t bits = set_words[(place.offset + word) & (0u - is_inside)];
  const std::uint32_t is_member = is_inside & (bits >> category % kSetBits);
  const std::uint32_t is_below = static_cast<double>(value) <= node.threshold;
  const std::uint32_t goes_left =
      (is_member | (is_below & ~is_set)) ^ ((is_set | is_missing) & node.missing_left());
  const std::uint32_t left = 0u - goes_left;
  return ((number + 1) & left) | (node.right() & ~left);
}

// Calls task(first row, last row) for blocks of rows.
template <class Task>
void for_each_block(const Rows& rows, int n_threads, const Poll& poll, const Task& task,
                    std::size_t most_rows = kMostRows) {
  constexpr std::size_t bytes = 1 << 19;
  const std::size_t size = std::clamp<std::size_t>(bytes / rows.bytes_of_row(), 64, most_rows);
  parallel_for((rows.size() + size - 1) / size, n_threads, poll,
               [&](std::size_t block, const Poll& own_poll) {
                 task(block * size, std::min(rows.size(), (block + 1) * size));
                 own_poll();
               });
}

std::vector<std::uint32_t> numbers(std::size_t first, std::size_t last) {
  std::vector<std::uint32_t> rows(last - first);
  std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(first));
  return rows;
}

// A row on its way down a tree.
template <class T>
struct Walker {
  const T* row;
  std::uint32_t at;
  std::uint32_t number;
};

// Adds the leaf's class proportions.
template <class Count>
void add_proportions(const ForestView<Count>& forest, std::size_t tree, const Node& leaf,
                     double* out) {
  const std::size_t first = static_cast<std::size_t>(forest.entry_start[tree]) + leaf.first_entry();
  const std::uint32_t n = leaf.n_entries();
  if (n == 1) {
    out[forest.entry_label[first]] += 1;
    return;
  }
  double total = 0;
  for (std::size_t e = first; e < first + n; ++e)
    total += static_cast<double>(forest.entry_count[e]);
  for (std::size_t e = first; e < first + n; ++e)
    out[forest.entry_label[e]] += static_cast<double>(forest.entry_count[e]) / total;
}

// Adds what packed leaves predict, from the first entry of each row's leaf. Each has two or more.
void add_shares(const PackedEntry* entries, std::span<const std::uint32_t> first_of,
                std::size_t n_classes, double* out) {
  constexpr std::size_t ahead = 32;
  for (std::size_t i = 0; i < first_of.size(); ++i, out += n_classes) {
    prefetch(entries + first_of[std::min(i + ahead, first_of.size() - 1)]);
    const PackedEntry* entry = entries + first_of[i];
    out[entry[0].label] += entry[0].share;
    out[entry[1].label] += entry[1].share;
    for (++entry; entry->n_more > 0; ++entry) out[entry[1].label] += entry[1].share;
  }
}

}  // namespace

// All rows go down one step at a time, and those that have arrived leave the list: no step waits
// for another row's, and no branch depends on where a row goes.
template <class T>
template <class ChildOf>
void MatrixRows<T>::walk(const Node* tree, std::span<const std::uint32_t> rows,
                         std::uint32_t* leaves, const ChildOf& child_of) const {
  std::array<Walker<T>, kMostRows> walkers;
  for (std::size_t i = 0; i < rows.size(); ++i)
    walkers[i] = {X_.data + static_cast<std::ptrdiff_t>(rows[i]) * X_.row_stride, 0,
                  static_cast<std::uint32_t>(i)};
  for (std::size_t walking = rows.size(); walking > 0;) {
    std::size_t still_walking = 0;
    for (std::size_t j = 0; j < walking; ++j) {
      const Walker<T> walker = walkers[j];
      const Node& node = tree[walker.at];
      leaves[walker.number] = walker.at;
      const std::uint32_t child = child_of(node, walker);
      prefetch(tree + child);
      walkers[still_walking] = {walker.row, child, walker.number};
      still_walking += !node.is_leaf();
    }
    walking = still_walking;
  }
}

template <class T>
void MatrixRows<T>::find_leaves(const Branches& tree, std::span<const std::uint32_t> rows,
                                std::uint32_t* leaves) const {
  const std::ptrdiff_t stride = X_.column_stride;
  if (tree.set_words.empty()) {
    walk(tree.nodes, rows, leaves, [stride](const Node& node, const Walker<T>& walker) {
      const std::int32_t feature = std::max(node.feature, 0);
      return child_of(node, walker.at, walker.row[feature * stride]);
    });
  } else {
    const std::uint32_t* words = tree.set_words.data();
    walk(tree.nodes, rows, leaves, [stride, words](const Node& node, const Walker<T>& walker) {
      const std::int32_t feature = std::max(node.feature, 0) & ~Node::set_bit;
      return child_of(node, walker.at, walker.row[feature * stride], words);
    });
  }
}

void apply(std::span<const Node> nodes, std::span<const std::int64_t> node_start,
           const SetWords& sets, const Rows& rows, int n_threads, const Poll& poll,
           std::span<std::int64_t> leaves) {
  const std::size_t n_trees = node_start.size() - 1;
  for_each_block(rows, n_threads, poll, [&](std::size_t first, std::size_t last) {
    const auto block = numbers(first, last);
    std::array<std::uint32_t, kMostRows> leaf_of;
    for (std::size_t t = 0; t < n_trees; ++t) {
      rows.find_leaves({nodes.data() + node_start[t], sets.of_tree(t)}, block, leaf_of.data());
      for (std::size_t i = 0; i < block.size(); ++i) leaves[block[i] * n_trees + t] = leaf_of[i];
    }
  });
}

template <class Count>
void predict_proba(const ForestView<Count>& forest, const Rows& rows, int n_threads,
                   const Poll& poll, std::span<double> proba) {
  const std::size_t n_classes = forest.n_classes, n_trees = forest.n_trees();
  PackedTrees packed(forest, rows.keys(), rows.size(), rows.n_columns());
  std::size_t first_tree = 0;
  do {
    const std::size_t last_tree = packed.pack(first_tree, n_threads, poll);
    auto predict_block = [&](std::size_t first, std::size_t last) {
      const auto block = numbers(first, last);
      const auto keyed = packed.empty() ? nullptr : rows.keyed(first, last);
      double* const out = proba.data() + first * n_classes;
      std::array<std::uint32_t, kMostRows> leaf_of;
      for (std::size_t t = first_tree; t < last_tree; ++t) {
        if (const auto tree = keyed ? packed.tree(t) : PackedTree{}; tree.nodes != nullptr) {
          keyed->find_leaves(tree, leaf_of.data());
          add_shares(packed.entries(), {leaf_of.data(), block.size()}, n_classes, out);
        } else {
          rows.find_leaves(forest.branches(t), block, leaf_of.data());
          for (std::size_t i = 0; i < block.size(); ++i)
            add_proportions(forest, t, forest.tree(t)[leaf_of[i]], out + i * n_classes);
        }
      }
      if (last_tree < n_trees) return;
      for (std::size_t i = first * n_classes; i < last * n_classes; ++i)
        proba[i] /= static_cast<double>(n_trees);
    };
    for_each_block(rows, n_threads, poll, predict_block,
                   packed.empty() ? kMostRows : kMostRows / 2);
    first_tree = last_tree;
  } while (first_tree < n_trees);
}

template <class Count>
void out_of_bag_votes(const ForestView<Count>& forest, const Rows& rows, const Bootstrap& bootstrap,
                      std::uint64_t seed, int n_threads, const Poll& poll, std::span<double> votes,
                      std::span<std::int64_t> n_votes) {
  const std::size_t n_trees = forest.n_trees(), n_classes = forest.n_classes;
  const auto drawn = bootstrap.drawn(seed, 0, n_trees, numbers(0, rows.size()), n_threads, poll);
  for_each_block(rows, n_threads, poll, [&](std::size_t first, std::size_t last) {
    std::vector<std::uint32_t> out_of_bag;
    std::array<std::uint32_t, kMostRows> leaf_of;
    for (std::size_t t = 0; t < n_trees; ++t) {
      out_of_bag.clear();
      for (std::size_t row = first; row < last; ++row)
        if (!drawn[t][row]) out_of_bag.push_back(static_cast<std::uint32_t>(row));
      const Node* tree = forest.tree(t);
      rows.find_leaves(forest.branches(t), out_of_bag, leaf_of.data());
      for (std::size_t i = 0; i < out_of_bag.size(); ++i) {
        const std::size_t row = out_of_bag[i];
        add_proportions(forest, t, tree[leaf_of[i]], votes.data() + row * n_classes);
        ++n_votes[row];
      }
    }
  });
}

template class MatrixRows<float>;
template class MatrixRows<double>;
template class MatrixRows<std::uint8_t>;
template class MatrixRows<std::int8_t>;
template class MatrixRows<std::uint16_t>;
template class MatrixRows<std::int16_t>;
template class MatrixRows<std::uint32_t>;
template class MatrixRows<std::int32_t>;
template class MatrixRows<std::uint64_t>;
template class MatrixRows<std::int64_t>;

template void predict_proba(const ForestView<std::uint16_t>&, const Rows&, int, const Poll&,
                            std::span<double>);
template void predict_proba(const ForestView<std::uint32_t>&, const Rows&, int, const Poll&,
                            std::span<double>);
template void predict_proba(const ForestView<double>&, const Rows&, int, const Poll&,
                            std::span<double>);
template void out_of_bag_votes(const ForestView<std::uint16_t>&, const Rows&, const Bootstrap&,
                               std::uint64_t, int, const Poll&, std::span<double>,
                               std::span<std::int64_t>);
template void out_of_bag_votes(const ForestView<std::uint32_t>&, const Rows&, const Bootstrap&,
                               std::uint64_t, int, const Poll&, std::span<double>,
                               std::span<std::int64_t>);
template void out_of_bag_votes(const ForestView<double>&, const Rows&, const Bootstrap&,
                               std::uint64_t, int, const Poll&, std::span<double>,
                               std::span<std::int64_t>);

}  // namespace hardwood
