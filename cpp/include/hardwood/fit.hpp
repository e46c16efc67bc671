// From labels and weights to trees.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardwood/any_criterion.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/grow_options.hpp"
#include "hardwood/node_split.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/sample.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

struct FitOptions {
  GrowOptions grow;
  std::size_t first_tree = 0;  // of a forest that is grown in parts
  std::size_t n_trees = 1;
  std::size_t n_draws = 0;     // of rows or groups, with replacement; 0: all rows, once
  bool balance_draws = false;  // weigh a tree's draws so that its classes weigh the same
  std::uint64_t seed = 0;
  int n_threads = 1;
};

// Rows of weight zero were left out before coding; no weights: all 1. Where rows are drawn, weights
// are the probabilities of the draws, otherwise they weigh the rows. No groups: rows are drawn
// alone.
struct TrainingData {
  const Codes& codes;
  std::span<const std::uint16_t> labels;
  std::span<const double> weights;
  std::size_t n_classes;
  std::span<const std::uint32_t> groups = {};
};

struct FittedTrees {
  std::vector<Tree> trees;
  double weight_unit = 1;  // what a count of 1 is in the caller's weights
};

// n_done tells, while the trees grow, how many are grown.
FittedTrees fit_trees(const TrainingData& data, const CriterionSpec& spec,
                      const FitOptions& options, const Poll& poll,
                      std::atomic<std::size_t>& n_done);

// Grows a tree below a node of its trunk (trunk.hpp). The options, the context and the total weight
// are those of the whole tree.
Tree grow_subtree(const Codes& codes, std::vector<WholeSample> samples, const CriterionSpec& spec,
                  const GrowOptions& options, const FitContext& context, bool unit_weights,
                  double total_weight, Task node, std::span<const std::uint32_t> features,
                  const Poll& poll);

// The stream that the root of a tree starts from.
std::uint64_t root_key(std::uint64_t seed, std::size_t tree);

}  // namespace hardwood
