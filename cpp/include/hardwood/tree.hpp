// A grown tree, as small as it gets.
//
// Nodes stand in depth-first order, so a node's left child is the one after it. Only leaves keep
// class counts; everything else scikit-learn shows of a tree follows from them (expand.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hardwood {

struct Node {
  static constexpr std::int32_t leaf = -1;
  static constexpr std::uint32_t missing_left_bit = 0x80000000u;

  double threshold;      // value <= threshold goes left
  std::int32_t feature;  // or `leaf`
  std::uint32_t child;  // right child, and in the top bit where missing values go; leaf: its number

  bool is_leaf() const { return feature == leaf; }
  bool missing_left() const { return child & missing_left_bit; }
  std::uint32_t right() const { return child & ~missing_left_bit; }
};
static_assert(sizeof(Node) == 16);

struct Tree {
  std::size_t n_classes = 0;
  std::vector<Node> nodes;
  std::vector<double> leaf_counts;       // [leaf][class]
  std::vector<std::uint32_t> leaf_rows;  // distinct rows

  std::size_t n_leaves() const { return leaf_rows.size(); }
};

}  // namespace hardwood
