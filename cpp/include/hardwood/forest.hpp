// The trees of a forest in one block, as they are stored, sent and predicted with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "hardwood/buffer.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

// The sets of all trees of a forest: those of tree t have the words from start[t]. Both may be
// empty, if no tree has a set.
struct SetWords {
  std::span<const std::uint32_t> words{};
  std::span<const std::int64_t> start{};  // one more than trees

  std::span<const std::uint32_t> of_tree(std::size_t t) const {
    if (start.empty()) return {};
    return words.subspan(static_cast<std::size_t>(start[t]),
                         static_cast<std::size_t>(start[t + 1] - start[t]));
  }
};

// What a walk down a tree reads.
struct Branches {
  const Node* nodes;
  std::span<const std::uint32_t> set_words;  // empty: the tree has no set
};

// A forest somebody else holds. Tree t has nodes[node_start[t]] … and entries from entry_start[t].
template <class Count>
struct ForestView {
  std::size_t n_classes;
  std::span<const Node> nodes;
  std::span<const std::uint16_t> entry_label;
  std::span<const Count> entry_count;
  std::span<const std::int64_t> node_start;   // one more than trees
  std::span<const std::int64_t> entry_start;  // likewise
  SetWords sets{};

  std::size_t n_trees() const { return node_start.size() - 1; }
  const Node* tree(std::size_t t) const { return nodes.data() + node_start[t]; }
  Branches branches(std::size_t t) const { return {tree(t), sets.of_tree(t)}; }
};

// One tree of a forest, in the engine's own form.
template <class Count>
Tree tree_of(const ForestView<Count>& forest, std::size_t t) {
  Tree tree;
  tree.n_classes = forest.n_classes;
  tree.nodes.assign(forest.nodes.begin() + forest.node_start[t],
                    forest.nodes.begin() + forest.node_start[t + 1]);
  tree.entry_label.assign(forest.entry_label.begin() + forest.entry_start[t],
                          forest.entry_label.begin() + forest.entry_start[t + 1]);
  tree.entry_count.assign(forest.entry_count.begin() + forest.entry_start[t],
                          forest.entry_count.begin() + forest.entry_start[t + 1]);
  const auto words = forest.sets.of_tree(t);
  tree.set_words.assign(words.begin(), words.end());
  return tree;
}

// The smallest kind of number that holds all counts.
enum class CountKind { u16, u32, f64 };

struct Forest {
  Buffer<Node> nodes;
  Buffer<std::uint16_t> entry_label;
  Buffer<double> entry_count;
  Buffer<std::uint32_t> set_words;
  std::vector<std::int64_t> node_start{0}, entry_start{0}, set_start{0};

  Forest() = default;
  explicit Forest(std::vector<Tree> trees, int n_threads = 1) {
    for (const Tree& tree : trees) {
      node_start.push_back(node_start.back() + std::ssize(tree.nodes));
      entry_start.push_back(entry_start.back() + std::ssize(tree.entry_label));
      set_start.push_back(set_start.back() + std::ssize(tree.set_words));
    }
    nodes.resize(static_cast<std::size_t>(node_start.back()));
    entry_label.resize(static_cast<std::size_t>(entry_start.back()));
    entry_count.resize(static_cast<std::size_t>(entry_start.back()));
    set_words.resize(static_cast<std::size_t>(set_start.back()));
    parallel_for(trees.size(), n_threads, {}, [&](std::size_t t, const Poll&) {
      std::ranges::copy(trees[t].nodes, nodes.begin() + node_start[t]);
      std::ranges::copy(trees[t].entry_label, entry_label.begin() + entry_start[t]);
      std::ranges::copy(trees[t].entry_count, entry_count.begin() + entry_start[t]);
      std::ranges::copy(trees[t].set_words, set_words.begin() + set_start[t]);
      trees[t] = {};  // two copies of a forest would be one too many
    });
  }

  CountKind count_kind() const {
    double largest = 0;
    for (const double count : entry_count) {
      if (count != static_cast<double>(static_cast<std::uint32_t>(std::min(count, 4e9))))
        return CountKind::f64;
      largest = std::max(largest, count);
    }
    return largest <= std::numeric_limits<std::uint16_t>::max() ? CountKind::u16 : CountKind::u32;
  }
};

}  // namespace hardwood
