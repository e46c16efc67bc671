// Whether arrays from a file are a forest: that all the predictor follows lies inside, and ends.
//
// Nodes stand in depth-first order, so that a tree is read in one pass: a split's left child is the
// node after it, and the node after a leaf is the right child of the nearest split that still
// awaits one. No walk from such a root can leave the tree, or come back. The words of sets follow
// one another in the same order.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "hardwood/forest.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

// The number of categories of each column that has some.
using CategoryNumbers = std::map<std::uint32_t, std::uint32_t>;

namespace validation {

inline void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

// Where trees start: from 0, rising, up to n.
inline void check_starts(std::span<const std::int64_t> start, std::size_t n,
                         bool may_be_empty = false) {
  constexpr std::int64_t most = Node::missing_left_bit;  // node numbers have 31 bits
  require(start.size() >= 2 && start.front() == 0, "the trees must start at 0");
  for (std::size_t t = 1; t < start.size(); ++t)
    require((start[t] > start[t - 1] || (may_be_empty && start[t] == start[t - 1])) &&
                start[t] - start[t - 1] < most,
            "every tree must start after the one before it");
  require(static_cast<std::size_t>(start.back()) == n, "the last tree must end with the arrays");
}

// The entries of a leaf: classes in ascending order, and counts of which some are above zero.
template <class Count>
double checked_weight(std::span<const std::uint16_t> labels, std::span<const Count> counts,
                      std::size_t n_classes) {
  double weight = 0;
  for (std::size_t e = 0; e < labels.size(); ++e) {
    require(e == 0 || labels[e] > labels[e - 1], "a leaf's classes must be in ascending order");
    if constexpr (std::is_floating_point_v<Count>)
      require(counts[e] >= 0, "counts must not be negative");  // nor NaN
    weight += static_cast<double>(counts[e]);
  }
  require(labels.back() < n_classes, "a leaf's classes must be among the forest's");
  require(weight > 0, "a leaf must have a count above zero");
  return weight;
}

// The set of a split: its words follow those of the split before it, the first and the last one are
// not empty, and its categories are among those of its feature. Returns the number of words.
inline std::size_t check_set(Node::SetPlace place, std::size_t n_before,
                             std::span<const std::uint32_t> words, std::uint32_t n_categories) {
  require(place.offset == n_before && place.n_words > 0 && place.n_words <= words.size() - n_before,
          "the words of a set must follow those of the set before it");
  const auto of_set = words.subspan(n_before, place.n_words);
  require(of_set.front() != 0 && of_set.back() != 0, "a set must not have empty words at its ends");
  const std::uint32_t last_word = place.first_word + place.n_words - 1u;
  const std::uint32_t last =
      last_word * kSetBits + static_cast<std::uint32_t>(std::bit_width(of_set.back())) - 1;
  require(last < n_categories, "a set's categories must be among those of its feature");
  return place.n_words;
}

template <class Count>
void check_tree(const ForestView<Count>& forest, std::size_t t, std::size_t n_features,
                const CategoryNumbers& n_categories) {
  const auto of_tree = [t](auto all, std::span<const std::int64_t> start) {
    return all.subspan(static_cast<std::size_t>(start[t]),
                       static_cast<std::size_t>(start[t + 1] - start[t]));
  };
  const auto nodes = of_tree(forest.nodes, forest.node_start);
  const auto labels = of_tree(forest.entry_label, forest.entry_start);
  const auto counts = of_tree(forest.entry_count, forest.entry_start);

  std::vector<std::uint32_t> awaited;  // right children of the splits above
  const auto set_words = forest.sets.of_tree(t);
  std::size_t n_entries = 0, n_words = 0;
  double weight = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (!node.is_leaf()) {
      require(node.feature >= 0 && node.column() < n_features,
              "a split's feature must be among the forest's");
      if (node.is_set())
        n_words +=
            check_set(node.set_place(), n_words, set_words,
                      n_categories.contains(node.column()) ? n_categories.at(node.column()) : 0);
      else
        require(!std::isnan(node.threshold), "a threshold must be a number");
      require(node.right() < nodes.size(), "a right child must lie inside its tree");
      awaited.push_back(node.right());
      continue;
    }
    require(node.n_rows() > 0, "a leaf must have rows");
    require(node.first_entry() == n_entries && node.n_entries() > 0 &&
                node.n_entries() <= labels.size() - n_entries,
            "a leaf's entries must follow those of the leaf before it");
    weight += checked_weight(labels.subspan(n_entries, node.n_entries()),
                             counts.subspan(n_entries, node.n_entries()), forest.n_classes);
    n_entries += node.n_entries();
    if (awaited.empty()) {
      require(i + 1 == nodes.size(), "every node must be some split's child");
      break;
    }
    require(awaited.back() == i + 1, "nodes must be in depth-first order");
    awaited.pop_back();
  }
  require(awaited.empty(), "every split must have two children");
  require(n_entries == labels.size(), "every entry must be some leaf's");
  require(n_words == set_words.size(), "every word of a set must be some split's");
  require(std::isfinite(weight), "a tree's weight must be finite");
}

}  // namespace validation

// Throws std::invalid_argument unless a forest can be used with rows of n_features values.
template <class Count>
void validate(const ForestView<Count>& forest, std::size_t n_features,
              const CategoryNumbers& n_categories, int n_threads, const Poll& poll) {
  using validation::require;
  require(forest.n_classes >= 1 && n_features >= 1, "there must be a class and a feature");
  for (const auto& [column, n] : n_categories)
    require(n <= kMaxCategories, "a feature must have at most 65535 categories");
  require(forest.entry_label.size() == forest.entry_count.size(),
          "every entry must have a label and a count");
  validation::check_starts(forest.node_start, forest.nodes.size());
  validation::check_starts(forest.entry_start, forest.entry_label.size());
  require(forest.node_start.size() == forest.entry_start.size(),
          "nodes and entries must be of as many trees");
  if (!forest.sets.start.empty() || !forest.sets.words.empty()) {
    validation::check_starts(forest.sets.start, forest.sets.words.size(), true);
    require(forest.node_start.size() == forest.sets.start.size(),
            "nodes and sets must be of as many trees");
  }
  parallel_for(forest.n_trees(), n_threads, poll, [&](std::size_t t, const Poll& own_poll) {
    validation::check_tree(forest, t, n_features, n_categories);
    own_poll();
  });
}

}  // namespace hardwood
