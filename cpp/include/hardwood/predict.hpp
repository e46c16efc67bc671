// Where rows end up. Values are compared in their own precision; a missing one (NaN) goes where its
// node says.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hardwood/codes.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

template <class T>
void apply(std::span<const Node> nodes, const MatrixView<T>& X, std::span<std::int64_t> leaf_node) {
  for (std::size_t row = 0; row < X.n_rows; ++row) {
    std::uint32_t i = 0;
    while (!nodes[i].is_leaf()) {
      const Node& node = nodes[i];
      const double value = static_cast<double>(X.at(row, static_cast<std::size_t>(node.feature)));
      const bool left = std::isnan(value) ? node.missing_left() : value <= node.threshold;
      i = left ? i + 1 : node.right();
    }
    leaf_node[row] = i;
  }
}

}  // namespace hardwood
