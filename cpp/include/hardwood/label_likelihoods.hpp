// How likely the labels of some rows are, given the votes on them, if a share of the labels is
// random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hardwood/parallel.hpp"

namespace hardwood {

// Votes under several settings of a forest, and the labels that they are compared with.
struct VotesOnLabels {
  std::span<const float> votes;           // sums of votes, [row][setting][class]
  std::span<const std::int64_t> n_votes;  // of each row
  std::span<const std::uint16_t> labels;
  std::span<const double> weights;  // of the rows
  std::size_t n_settings, n_classes;
};

// With v the votes of a row, divided by their number, s_k = max(v_k, 0) + even / K and
// P(label = y) = (1 - e) s_y^a / Σ_k s_k^a + e / K.
struct LabelNoise {
  std::span<const double> exponents;  // a
  std::span<const double> mixed_in;   // e
  double even;
};

// out[setting][a][e] = Σ weight log P(label), over the rows.
void label_likelihoods(const VotesOnLabels& rows, const LabelNoise& noise, int n_threads,
                       const Poll& poll, std::span<double> out);

}  // namespace hardwood
