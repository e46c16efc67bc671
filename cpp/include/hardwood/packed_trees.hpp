// Trees packed for one call that takes many rows down them.
//
// A packed node has 8 bytes, half of a stored one, and the two children of a node stand side by
// side: a step reads less memory and computes less. Values are compared by their keys, whole
// numbers of 32 bits in the order of the values, and leaves have shares instead of counts. Packing
// a tree takes less time than it saves if there are enough rows, so nobody keeps packed trees.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "hardwood/buffer.hpp"
#include "hardwood/forest.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

// Which numbers have keys, and whether keys tell apart all that a threshold tells apart: those of
// float64 are the keys of the nearest float32, so where they are equal the values decide.
enum class KeyKind { none, whole, float32, float64 };

template <class T>
constexpr KeyKind key_kind() {
  if (std::is_integral_v<T>) return KeyKind::whole;
  return std::is_same_v<T, float> ? KeyKind::float32 : KeyKind::float64;
}

inline constexpr std::int32_t kMissingKey = std::numeric_limits<std::int32_t>::max();

// The bits of a number that is not NaN, in the order of the numbers. Zero has one sign.
inline std::int32_t ordered_bits(float number) {
  const auto bits = std::bit_cast<std::int32_t>(number + 0.0f);
  return bits ^ (bits >> 31 & std::numeric_limits<std::int32_t>::max());
}

inline std::int32_t key_of(float value) {
  return value != value ? kMissingKey : ordered_bits(value);
}

// The key that values on the left have at the most.
template <KeyKind kind>
std::int32_t key_of_threshold(double threshold) {
  if constexpr (kind == KeyKind::whole) {
    constexpr double least = std::numeric_limits<std::int32_t>::min(),
                     most = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(std::floor(std::clamp(threshold, least, most)));
  } else {
    const auto nearest = static_cast<float>(threshold);
    const bool is_above = static_cast<double>(nearest) > threshold;
    return ordered_bits(nearest) - (kind == KeyKind::float32 && is_above);
  }
}

// Of a split, `next` has from the lowest bit: whether missing values go left, the feature, and the
// place of the left child; the right one is beside it. Keys above the threshold go right. Where
// missing values go left, the threshold is one larger: one more than kMissingKey is the least of
// all numbers. Of a leaf, `next` has its own place, and the threshold is its first entry.
struct PackedNode {
  std::int32_t threshold;
  std::uint32_t next;
};
static_assert(sizeof(PackedNode) == 8);

// What a leaf predicts for a class, and how many more entries it has. Leaves of one class have a
// second entry, of a share of 0, so that it matters little which they are.
struct PackedEntry {
  double share;
  std::uint32_t label;
  std::uint32_t n_more;
};

struct PackedTree {
  const PackedNode* nodes;  // nullptr: the tree is not packed
  int feature_bits;
  const Node* stored_nodes;     // the same in depth-first order; for float64 only, as
  const std::uint32_t* splits;  // where among these the parent of each pair of children is

  const Node& stored(std::uint32_t place) const {
    if (place == 0) return stored_nodes[0];
    const std::uint32_t parent = splits[place / 2];
    return stored_nodes[place % 2 == 0 ? parent + 1 : stored_nodes[parent].right()];
  }
};

// Some rows of a matrix by their keys.
class KeyedRows {
 public:
  virtual ~KeyedRows() = default;
  // Writes down the first entry of each row's leaf.
  virtual void find_leaves(const PackedTree& tree, std::uint32_t* entries) const = 0;
};

// Some trees of a forest, those of them packed that many rows go down.
template <class Count>
class PackedTrees {
 public:
  PackedTrees(const ForestView<Count>& forest, KeyKind kind, std::size_t n_rows,
              std::size_t n_columns)
      : forest_(forest),
        kind_(n_rows < kFewRows ? KeyKind::none : kind),
        n_rows_(n_rows),
        most_nodes_(std::clamp(n_columns << 11, kFewestNodes, kMostNodes)),
        feature_bits_(static_cast<int>(std::bit_width(n_columns - 1))) {}

  // Packs from this tree until the next one would not fit, and returns the number of the last one,
  // plus one. The memory is that of the trees packed before.
  std::size_t pack(std::size_t first, int n_threads, const Poll& poll);

  bool empty() const { return node_start_.back() == 0; }
  PackedTree tree(std::size_t t) const {
    const std::size_t start = node_start_[t - first_], end = node_start_[t - first_ + 1];
    if (start == end) return {};
    return {nodes_.data() + start, feature_bits_, forest_.tree(t),
            splits_.empty() ? nullptr : splits_.data() + start / 2};
  }
  const PackedEntry* entries() const { return entries_.data(); }

 private:
  // Nodes packed at a time. A few trees are still in the cache when all rows go down them; but the
  // keys of the rows are written for each time, which takes as long as many steps if there are many
  // columns.
  static constexpr std::size_t kFewestNodes = std::size_t{1} << 18,
                               kMostNodes = std::size_t{1} << 20;
  static constexpr std::size_t kFewRows = 16;
  static constexpr std::size_t kNodesPerRow = 5;  // with more, packing takes longer than it saves

  bool is_worthwhile(std::size_t t) const;
  template <KeyKind kind>
  void pack_tree(std::size_t t);

  ForestView<Count> forest_;
  KeyKind kind_;
  std::size_t n_rows_, most_nodes_;
  int feature_bits_;
  std::size_t first_ = 0;
  std::vector<std::size_t> node_start_, entry_start_;  // trees that are not packed take no place
  Buffer<PackedNode> nodes_;
  Buffer<std::uint32_t> splits_;
  Buffer<PackedEntry> entries_;  // first those of leaves of one class, which are shared
};

}  // namespace hardwood
