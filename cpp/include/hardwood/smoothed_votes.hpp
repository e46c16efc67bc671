// Votes of smoothed trees (smoothing.hpp) on the rows that the trees did not draw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hardwood/bootstrap.hpp"
#include "hardwood/forest.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/predict.hpp"
#include "hardwood/smoothing.hpp"

namespace hardwood {

// votes[i][smoothing][class] of row chosen[i], summed over the trees that it was not drawn for, and
// n_votes[i] of how many, whatever they held before. The forest's first tree is number first_tree
// of those that were drawn.
template <class Count>
void out_of_bag_smoothed(const ForestView<Count>& forest, const Rows& rows,
                         std::span<const std::uint32_t> chosen, const Bootstrap& bootstrap,
                         std::uint64_t seed, std::size_t first_tree, const Smoothings& smoothings,
                         int n_threads, const Poll& poll, std::span<float> votes,
                         std::span<std::int64_t> n_votes);

// leading[setting][row] of votes[row][setting][class]: the class of most votes, the first of
// equals. Votes of other trees for the same rows, if any, are added to them before.
void leading_classes(std::span<const float> votes, std::span<const float> others,
                     std::size_t n_settings, std::size_t n_classes, int n_threads, const Poll& poll,
                     std::span<std::uint16_t> leading);

}  // namespace hardwood
