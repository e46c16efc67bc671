// The trees of a forest in one block, as they are stored, sent and predicted with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "hardwood/tree.hpp"

namespace hardwood {

// A forest somebody else holds. Tree t has nodes[node_start[t]] … and entries from entry_start[t].
template <class Count>
struct ForestView {
  std::size_t n_classes;
  std::span<const Node> nodes;
  std::span<const std::uint16_t> entry_label;
  std::span<const Count> entry_count;
  std::span<const std::int64_t> node_start;   // one more than trees
  std::span<const std::int64_t> entry_start;  // likewise

  std::size_t n_trees() const { return node_start.size() - 1; }
  const Node* tree(std::size_t t) const { return nodes.data() + node_start[t]; }
};

// The smallest kind of number that holds all counts.
enum class CountKind { u16, u32, f64 };

struct Forest {
  std::vector<Node> nodes;
  std::vector<std::uint16_t> entry_label;
  std::vector<double> entry_count;
  std::vector<std::int64_t> node_start{0}, entry_start{0};

  explicit Forest(std::vector<Tree> trees) {
    std::size_t n_nodes = 0, n_entries = 0;
    for (const Tree& tree : trees) {
      n_nodes += tree.nodes.size();
      n_entries += tree.entry_label.size();
    }
    nodes.reserve(n_nodes);
    entry_label.reserve(n_entries);
    entry_count.reserve(n_entries);
    for (Tree& tree : trees) {
      nodes.insert(nodes.end(), tree.nodes.begin(), tree.nodes.end());
      entry_label.insert(entry_label.end(), tree.entry_label.begin(), tree.entry_label.end());
      entry_count.insert(entry_count.end(), tree.entry_count.begin(), tree.entry_count.end());
      node_start.push_back(static_cast<std::int64_t>(nodes.size()));
      entry_start.push_back(static_cast<std::int64_t>(entry_label.size()));
      tree = {};  // two copies of a forest would be one too many
    }
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
