#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "hardwood/forest.hpp"
#include "hardwood/tree.hpp"
#include "hardwood/validate.hpp"
#include "random_forest.hpp"

using namespace hardwood;

namespace {

// A root, its left child a leaf of classes 0 and 2, its right child a leaf of class 1.
Forest small_forest() {
  Tree tree;
  tree.n_classes = kClasses;
  const auto root = tree.add({0.5, 1, 0}, kNobody);
  tree.add_leaf(std::vector<double>{2, 0, 1}, 3, kNobody, false);
  tree.add_leaf(std::vector<double>{0, 4, 0}, 4, root, false);
  return Forest({tree});
}

// The same, but the root splits by the set {33, 39} of feature 1's categories 0 to 39.
Forest set_forest() {
  Tree tree;
  tree.n_classes = kClasses;
  const std::vector<std::uint32_t> words{1u << 1 | 1u << 7};
  const auto root = tree.add_set(Node::make_set(1, {0, 1, 1}, 0), words, kNobody);
  tree.add_leaf(std::vector<double>{2, 0, 1}, 3, kNobody, false);
  tree.add_leaf(std::vector<double>{0, 4, 0}, 4, root, false);
  return Forest({tree});
}

struct Claims {
  std::size_t n_classes = kClasses, n_features = kFeatures;
  CategoryNumbers n_categories = kCategories;
};

void validate_all(const Forest& forest, int n_threads = 1, const Claims& claims = {}) {
  validate(ForestView<double>{claims.n_classes,
                              forest.nodes,
                              forest.entry_label,
                              forest.entry_count,
                              forest.node_start,
                              forest.entry_start,
                              {forest.set_words, forest.set_start}},
           claims.n_features, claims.n_categories, n_threads, {});
}

// What is said of a forest that is refused; empty for one that is not.
std::string refusal(const Forest& forest, const Claims& claims = {}) {
  try {
    validate_all(forest, 1, claims);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

bool says(const Forest& forest, const char* words, const Claims& claims = {}) {
  return refusal(forest, claims).find(words) != std::string::npos;
}

template <class Change>
Forest changed(Change&& change) {
  Forest forest = small_forest();
  change(forest);
  return forest;
}

Forest with_set(Node::SetPlace place, std::vector<std::uint32_t> words,
                std::vector<std::int64_t> start) {
  Forest forest = set_forest();
  forest.nodes[0].threshold = std::bit_cast<double>(place);
  forest.set_words.assign(words.begin(), words.end());
  forest.set_start = std::move(start);
  return forest;
}

}  // namespace

TEST_CASE(grown_forests_are_valid) {
  std::mt19937 rng(1);
  for (int i = 0; i < 200; ++i) {
    const Forest forest = random_forest(rng);
    validate_all(forest, 1);
    validate_all(forest, 3);
  }
}

TEST_CASE(counts_of_every_kind_are_valid) {
  const Forest forest = small_forest();
  const std::vector<std::uint16_t> small(forest.entry_count.begin(), forest.entry_count.end());
  const std::vector<std::uint32_t> large(forest.entry_count.begin(), forest.entry_count.end());
  validate(ForestView<std::uint16_t>{kClasses, forest.nodes, forest.entry_label, small,
                                     forest.node_start, forest.entry_start},
           kFeatures, {}, 1, {});
  validate(ForestView<std::uint32_t>{kClasses, forest.nodes, forest.entry_label, large,
                                     forest.node_start, forest.entry_start},
           kFeatures, {}, 1, {});
}

TEST_CASE(wrong_sets_are_refused) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  CHECK(refusal(set_forest()).empty());
  CHECK(refusal(with_set({0, 0, 2}, {1, 1u << 7}, {0, 2})).empty());
  CHECK(says(with_set({0, 0, 2}, {1, 1u << 8}, {0, 2}), "among those of its feature"));
  CHECK(says(with_set({0, 2, 1}, {1}, {0, 1}), "among those of its feature"));
  CHECK(says(with_set({0, 65535, 1}, {1}, {0, 1}), "among those of its feature"));
  CHECK(says(with_set({0, 0, 1}, {0}, {0, 1}), "empty words"));
  CHECK(says(with_set({0, 0, 2}, {0, 1}, {0, 2}), "empty words"));
  CHECK(says(with_set({0, 0, 2}, {1, 0}, {0, 2}), "empty words"));
  CHECK(says(with_set({1, 0, 1}, {1, 1}, {0, 2}), "must follow"));
  CHECK(says(with_set({0xffffffffu, 0, 1}, {1}, {0, 1}), "must follow"));
  CHECK(says(with_set({0, 0, 0}, {1}, {0, 1}), "must follow"));
  CHECK(says(with_set({0, 0, 2}, {1}, {0, 1}), "must follow"));
  CHECK(says(with_set({0, 0, 65535}, {1}, {0, 1}), "must follow"));
  CHECK(says(with_set({0, 0, 1}, {1, 1}, {0, 2}), "some split's"));
  CHECK(says(with_set({0, 0, 1}, {1}, {0, 2}), "end with the arrays"));
  CHECK(says(with_set({0, 0, 1}, {1}, {0, huge}), "start after"));
  CHECK(says(with_set({0, 0, 1}, {1}, {0, -1}), "start after"));
  CHECK(says(with_set({0, 0, 1}, {1}, {0, 0, 1}), "as many trees"));
  CHECK(says(with_set({0, 0, 1}, {1}, {}), "start at 0"));
  Forest numeric = set_forest();  // feature 0 has no categories
  numeric.nodes[0].feature = Node::set_bit;
  CHECK(says(numeric, "among those of its feature"));
  numeric.nodes[0].feature = Node::set_bit | 3;
  CHECK(says(numeric, "feature must be among"));
}

TEST_CASE(wrong_splits_are_refused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(says(changed([](Forest& f) { f.nodes[0].feature = 3; }), "feature must be among"));
  CHECK(says(changed([](Forest& f) { f.nodes[0].feature = -2; }), "feature must be among"));
  CHECK(says(changed([&](Forest& f) { f.nodes[0].threshold = nan; }), "must be a number"));
  CHECK(says(changed([](Forest& f) { f.nodes[0].child = 3; }), "lie inside its tree"));
  CHECK(says(changed([](Forest& f) { f.nodes[0].child = 0x7fffffffu; }), "lie inside its tree"));
  CHECK(says(changed([](Forest& f) { f.nodes[0].child = 0; }), "depth-first"));  // a cycle
  CHECK(says(changed([](Forest& f) { f.nodes[0].child = 1; }), "depth-first"));
  CHECK(says(changed([](Forest& f) { f.nodes[1] = {0.5, 0, 2}; }), "entries must follow"));
  CHECK(says(changed([](Forest& f) { f.nodes[2] = {0.5, 0, 2}; }), "two children"));
  CHECK(says(changed([](Forest& f) { f.nodes[0] = Node::make_leaf(1, 0, 1); }), "some split's"));
  // Where missing values go is no part of the child's number; infinite thresholds are numbers.
  CHECK(refusal(changed([](Forest& f) { f.nodes[0].child |= Node::missing_left_bit; })).empty());
  CHECK(refusal(changed([](Forest& f) { f.nodes[0].threshold = HUGE_VAL; })).empty());
}

TEST_CASE(wrong_leaves_are_refused) {
  const auto with_leaf = [](Node leaf) { return changed([&](Forest& f) { f.nodes[1] = leaf; }); };
  CHECK(refusal(with_leaf(Node::make_leaf(3, 0, 2))).empty());
  CHECK(says(with_leaf(Node::make_leaf(0, 0, 2)), "must have rows"));
  CHECK(says(with_leaf(Node::make_leaf(3, 1, 2)), "entries must follow"));
  CHECK(says(with_leaf(Node::make_leaf(3, 0xffffffffu, 2)), "entries must follow"));
  CHECK(says(with_leaf(Node::make_leaf(3, 0, 0)), "entries must follow"));
  CHECK(says(with_leaf(Node::make_leaf(3, 0, 4)), "entries must follow"));
  CHECK(says(with_leaf(Node::make_leaf(3, 0, 0xffffffffu)), "entries must follow"));
  CHECK(says(with_leaf(Node::make_leaf(3, 0, 3)), "ascending order"));  // the next leaf's as well
  CHECK(says(with_leaf(Node::make_leaf(3, 0, 1)), "entries must follow"));
}

TEST_CASE(wrong_entries_are_refused) {
  const double inf = std::numeric_limits<double>::infinity();
  const double largest = std::numeric_limits<double>::max();
  CHECK(says(changed([](Forest& f) { f.entry_label[1] = 3; }), "among the forest's"));
  CHECK(says(changed([](Forest& f) { f.entry_label[1] = 0; }), "ascending order"));
  CHECK(says(changed([](Forest& f) { f.entry_count[0] = -1; }), "not be negative"));
  CHECK(says(changed([&](Forest& f) { f.entry_count[0] = inf - inf; }), "not be negative"));
  CHECK(says(changed([](Forest& f) { f.entry_count[2] = 0; }), "count above zero"));
  CHECK(says(changed([&](Forest& f) { f.entry_count[0] = inf; }), "finite"));
  CHECK(says(changed([&](Forest& f) { f.entry_count[0] = f.entry_count[2] = largest; }), "finite"));
  // One count of a leaf may be zero: under monotonic constraints every class has an entry.
  CHECK(refusal(changed([](Forest& f) { f.entry_count[0] = 0; })).empty());
  CHECK(says(changed([](Forest& f) { f.entry_count.pop_back(); }), "a label and a count"));
  CHECK(says(changed([](Forest& f) {
               f.entry_label.push_back(0);
               f.entry_count.push_back(1);
               f.entry_start.back() = 4;
             }),
             "some leaf's"));
}

TEST_CASE(wrong_starts_are_refused) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  CHECK(says(changed([](Forest& f) { f.node_start = {}; }), "start at 0"));
  CHECK(says(changed([](Forest& f) { f.node_start = {0}; }), "start at 0"));
  CHECK(says(changed([](Forest& f) { f.node_start = {1, 3}; }), "start at 0"));
  CHECK(says(changed([](Forest& f) { f.node_start = {0, -3}; }), "start after"));
  CHECK(says(changed([](Forest& f) { f.node_start = {0, 0, 3}; }), "start after"));
  CHECK(says(changed([](Forest& f) { f.node_start = {0, huge, 3}; }), "start after"));
  CHECK(says(changed([](Forest& f) { f.node_start = {0, 2}; }), "end with the arrays"));
  CHECK(says(changed([](Forest& f) { f.node_start = {0, 4}; }), "end with the arrays"));
  CHECK(says(changed([](Forest& f) { f.node_start = {0, 1, 3}; }), "as many trees"));
  CHECK(says(changed([](Forest& f) { f.entry_start = {0, 2}; }), "end with the arrays"));
}

TEST_CASE(wrong_numbers_are_refused) {
  CHECK(says(small_forest(), "there must be a class", {.n_classes = 0}));
  CHECK(says(small_forest(), "and a feature", {.n_features = 0}));
  CHECK(says(small_forest(), "at most 65535 categories", {.n_categories = {{0, 65536}}}));
  CHECK(refusal(small_forest(), {.n_categories = {{0, 65535}}}).empty());
}

// Whatever is changed at random, a forest that passes can be walked to its leaves from every root.
TEST_CASE(what_passes_can_be_walked) {
  std::mt19937 rng(2);
  int n_passed = 0, n_refused = 0;
  for (int i = 0; i < 3000; ++i) {
    Forest forest = random_forest(rng);
    Node& node = forest.nodes[below(forest.nodes.size(), rng)];
    switch (below(5, rng)) {
      case 0:
        node.child = below(forest.nodes.size() + 2, rng);
        break;
      case 1:
        node.feature = static_cast<std::int32_t>(below(6, rng)) - 2;
        break;
      case 2:
        node = Node::make_set(below(4, rng),
                              {below(3, rng), static_cast<std::uint16_t>(below(3, rng)),
                               static_cast<std::uint16_t>(below(3, rng))},
                              node.child);
        break;
      case 3:
        node = Node::make_leaf(below(3, rng), below(5, rng), below(5, rng));
        break;
      default:
        node = forest.nodes[below(forest.nodes.size(), rng)];
    }
    if (!refusal(forest).empty()) {
      ++n_refused;
      continue;
    }
    ++n_passed;
    for (std::size_t t = 0; t + 1 < forest.node_start.size(); ++t) {
      const auto first = static_cast<std::size_t>(forest.node_start[t]);
      const auto n_nodes = static_cast<std::size_t>(forest.node_start[t + 1]) - first;
      std::vector<std::size_t> to_visit{0};
      std::size_t n_visited = 0;
      while (!to_visit.empty()) {
        const std::size_t at = to_visit.back();
        to_visit.pop_back();
        CHECK(at < n_nodes && ++n_visited <= n_nodes);  // inside, and no node twice
        const Node& here = forest.nodes[first + at];
        if (here.is_leaf()) {
          const auto last = here.first_entry() + here.n_entries();
          CHECK(here.n_entries() > 0 && last <= forest.entry_start[t + 1] - forest.entry_start[t]);
        } else {
          const auto place = here.set_place();
          CHECK(!here.is_set() ||
                place.offset + place.n_words <= forest.set_start[t + 1] - forest.set_start[t]);
          to_visit.insert(to_visit.end(), {at + 1, here.right()});
        }
      }
      CHECK(n_visited == n_nodes);
    }
  }
  CHECK(n_passed > 100 && n_refused > 100);
}
