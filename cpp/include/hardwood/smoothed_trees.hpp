// Smoothed trees as trees of their own (smoothing.hpp).
#pragma once

#include <cstddef>
#include <span>

#include "hardwood/forest.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

// The tree that stops at nodes of fewer than min_rows rows.
Tree stopped(const Tree& tree, std::size_t min_rows);

// The forest whose leaves hold their shrunk proportions, times their weight. Each tree has an
// amount of its own; with 0, it stays as it is.
template <class Count>
Forest shrunk(const ForestView<Count>& forest, std::span<const double> shrinkages, int n_threads,
              const Poll& poll);

}  // namespace hardwood
