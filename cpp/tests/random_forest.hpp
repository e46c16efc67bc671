// Forests with random splits, as a file may hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "../fuzz/stored_arrays.hpp"
#include "hardwood/forest.hpp"
#include "hardwood/tree.hpp"
#include "hardwood/validate.hpp"

namespace random_forests {

using namespace hardwood;

inline constexpr std::size_t kFeatures = 3, kClasses = 3;
inline const CategoryNumbers kCategories{{1, 40}, {2, 200}};

inline std::uint32_t below(std::size_t n, std::mt19937& rng) {
  return static_cast<std::uint32_t>(rng() % n);
}

// A tree with random splits, in depth-first order, and one or more entries in each leaf.
inline void grow(Tree& tree, std::mt19937& rng, int depth, std::uint32_t right_of) {
  if (depth == 0 || below(4, rng) == 0) {
    std::vector<double> counts(kClasses, 0);
    for (double& count : counts) count = below(3, rng);
    counts[below(kClasses, rng)] += 1;
    tree.add_leaf(counts, 1 + below(9, rng), right_of, false);
    return;
  }
  const std::uint32_t missing = below(2, rng) ? Node::missing_left_bit : 0;
  const auto feature = static_cast<std::int32_t>(below(kFeatures, rng));
  const auto known = kCategories.find(static_cast<std::uint32_t>(feature));
  const std::uint32_t n_categories = known == kCategories.end() ? 0 : known->second;
  std::uint32_t split = 0;
  if (n_categories > 0 && below(2, rng)) {
    std::vector<std::uint32_t> categories;
    for (std::uint32_t i = 0; i <= below(5, rng); ++i)
      categories.push_back(below(n_categories, rng));
    const CategorySet set = CategorySet::of(categories);
    const auto n_words = static_cast<std::uint16_t>(set.words.size());
    const auto column = static_cast<std::uint32_t>(feature);
    split = tree.add_set(Node::make_set(column, {0, set.first_word, n_words}, missing), set.words,
                         right_of);
  } else {
    split = tree.add({1.0 * below(10, rng), feature, missing}, right_of);
  }
  grow(tree, rng, depth - 1, kNobody);
  grow(tree, rng, depth - 1, split);
}

inline Forest random_forest(std::mt19937& rng) {
  std::vector<Tree> trees(1 + below(4, rng));
  for (Tree& tree : trees) {
    tree.n_classes = kClasses;
    grow(tree, rng, static_cast<int>(below(5, rng)), kNobody);
  }
  return Forest(std::move(trees));
}

// The same as the fuzzer keeps them. `kind` chooses the type of counts, and what is done with them.
inline fuzz::StoredArrays random_stored_arrays(std::uint16_t kind, std::mt19937& rng) {
  fuzz::StoredArrays arrays =
      fuzz::StoredArrays::of(random_forest(rng), kFeatures, kClasses,
                             {static_cast<std::uint16_t>(kCategories.at(2)),
                              static_cast<std::uint16_t>(kCategories.at(1))});
  arrays.sizes.count_kind = kind;
  return arrays;
}

}  // namespace random_forests

using random_forests::below;
using random_forests::kCategories;
using random_forests::kClasses;
using random_forests::kFeatures;
using random_forests::random_forest;
using random_forests::random_stored_arrays;
