// A grown tree, as small as it gets.
//
// Nodes stand in depth-first order, so a node's left child is the one after it. Only leaves keep
// class counts, and of these only the ones above zero (under monotonic constraints all of them, as
// the bounds may give a class a share that has no sample), as entries (class, count); everything
// else scikit-learn shows of a tree follows from them (expand.hpp).
//
// A node splits by a threshold or by a set of categories. Categories are whole numbers from 0, and
// sets are bits, in words that all nodes of a tree keep in one array. The categories of a node's
// set go to one side. All others go to the other side, as missing values do: those that the node
// has met there, those that it has not met, and those that no row had.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace hardwood {

inline constexpr std::uint32_t kMaxCategories = 65535;  // numbers 0 to 65,534
inline constexpr std::uint32_t kSetBits = 32;           // categories a word
inline constexpr std::uint32_t kMaxSetWords = (kMaxCategories + kSetBits - 1) / kSetBits;

// Some categories as bits: those of `words`, the first of which is that of category 32 first_word.
struct CategorySet {
  std::uint16_t first_word = 0;
  std::vector<std::uint32_t> words{};

  // From categories, at least one, in any order.
  static CategorySet of(std::span<const std::uint32_t> categories) {
    const auto [least, most] = std::ranges::minmax(categories);
    CategorySet set{static_cast<std::uint16_t>(least / kSetBits), {}};
    set.words.resize(most / kSetBits - set.first_word + 1);
    for (const std::uint32_t category : categories)
      set.words[category / kSetBits - set.first_word] |= 1u << category % kSetBits;
    return set;
  }
};

struct Node {
  static constexpr std::int32_t leaf = -1;
  static constexpr std::int32_t set_bit = 0x40000000;
  static constexpr std::uint32_t missing_left_bit = 0x80000000u;

  double threshold;      // value <= threshold goes left; set: where it is; leaf: rows, first entry
  std::int32_t feature;  // with `set_bit` if the node splits by a set; or `leaf`
  std::uint32_t child;   // right child, and in the top bit where missing values go; leaf: entries

  static Node make_leaf(std::uint32_t n_rows, std::uint32_t first_entry, std::uint32_t n_entries) {
    return {std::bit_cast<double>(std::array{n_rows, first_entry}), leaf, n_entries};
  }

  // Where the words of a set are in the tree's array, how many, and which the first one is.
  struct SetPlace {
    std::uint32_t offset;
    std::uint16_t first_word, n_words;
  };

  static Node make_set(std::uint32_t column, SetPlace place, std::uint32_t child) {
    return {std::bit_cast<double>(place), static_cast<std::int32_t>(column) | set_bit, child};
  }

  bool is_leaf() const { return feature == leaf; }
  bool is_set() const { return static_cast<std::uint32_t>(feature) >> 30 == 1; }
  std::uint32_t column() const { return static_cast<std::uint32_t>(feature & ~set_bit); }
  SetPlace set_place() const { return std::bit_cast<SetPlace>(threshold); }
  bool missing_left() const { return child & missing_left_bit; }
  std::uint32_t right() const { return child & ~missing_left_bit; }

  std::uint32_t n_rows() const { return leaf_words()[0]; }  // distinct ones
  std::uint32_t first_entry() const { return leaf_words()[1]; }
  std::uint32_t n_entries() const { return child; }

 private:
  std::array<std::uint32_t, 2> leaf_words() const {
    return std::bit_cast<std::array<std::uint32_t, 2>>(threshold);
  }
};
static_assert(sizeof(Node) == 16);

inline constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

struct Tree {
  std::size_t n_classes = 0;
  std::vector<Node> nodes;
  std::vector<std::uint16_t> entry_label;
  std::vector<double> entry_count;
  std::vector<std::uint32_t> set_words;

  // Adds a node, as the right child of another or of nobody, and returns its number.
  std::uint32_t add(Node node, std::uint32_t right_of) {
    const auto number = static_cast<std::uint32_t>(nodes.size());
    if (right_of != kNobody) nodes[right_of].child |= number;
    nodes.push_back(node);
    return number;
  }

  // The same for a node whose set has these words.
  std::uint32_t add_set(Node node, std::span<const std::uint32_t> words, std::uint32_t right_of) {
    auto place = node.set_place();
    place.offset = static_cast<std::uint32_t>(set_words.size());
    node.threshold = std::bit_cast<double>(place);
    set_words.insert(set_words.end(), words.begin(), words.end());
    return add(node, right_of);
  }

  std::span<const std::uint32_t> words_of(const Node& node) const {
    const auto place = node.set_place();
    return std::span(set_words).subspan(place.offset, place.n_words);
  }

  std::uint32_t add_leaf(std::span<const double> counts, std::size_t n_rows, std::uint32_t right_of,
                         bool all_classes) {
    const auto first = static_cast<std::uint32_t>(entry_label.size());
    for (std::size_t k = 0; k < counts.size(); ++k) {
      if (counts[k] == 0 && !all_classes) continue;
      entry_label.push_back(static_cast<std::uint16_t>(k));
      entry_count.push_back(counts[k]);
    }
    const auto n_entries = static_cast<std::uint32_t>(entry_label.size()) - first;
    return add(Node::make_leaf(static_cast<std::uint32_t>(n_rows), first, n_entries), right_of);
  }

  // Adds another tree, as a right child or nobody's, and returns the number of its root.
  std::uint32_t append(const Tree& part, std::uint32_t right_of) {
    const auto root = static_cast<std::uint32_t>(nodes.size());
    const auto first_entry = static_cast<std::uint32_t>(entry_label.size());
    const auto first_word = static_cast<std::uint32_t>(set_words.size());
    if (right_of != kNobody) nodes[right_of].child |= root;
    for (Node node : part.nodes) {
      if (node.is_leaf()) {
        node = Node::make_leaf(node.n_rows(), node.first_entry() + first_entry, node.n_entries());
      } else {
        if (node.is_set()) {
          auto place = node.set_place();
          place.offset += first_word;
          node.threshold = std::bit_cast<double>(place);
        }
        node.child += root;
      }
      nodes.push_back(node);
    }
    set_words.insert(set_words.end(), part.set_words.begin(), part.set_words.end());
    entry_label.insert(entry_label.end(), part.entry_label.begin(), part.entry_label.end());
    entry_count.insert(entry_count.end(), part.entry_count.begin(), part.entry_count.end());
    return root;
  }

  void add_leaf_counts(const Node& node, std::span<double> counts) const {
    for (std::uint32_t e = node.first_entry(); e < node.first_entry() + node.n_entries(); ++e)
      counts[entry_label[e]] += entry_count[e];
  }
};

}  // namespace hardwood
