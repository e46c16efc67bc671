// Sends a node's samples to its children, keeping their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hardwood/cut.hpp"
#include "hardwood/gather.hpp"

namespace hardwood {

// Returns the number of samples that go left.
template <class Sample>
std::size_t partition(std::span<Sample> samples, const Codes& codes, const Cut& cut,
                      Sample* spare) {
  const CodeSource source = rows_are_nearer(codes, samples.size(), 1)
                                ? source_in_rows(codes, cut.feature)
                                : source_in_column(codes, cut.feature);
  // A code that no sample has stands for "missing values go right".
  const std::uint32_t missing_to_left =
      cut.missing_left ? codes.columns[cut.feature].n_codes : std::uint32_t{1} << 31;
  std::size_t n_left = 0, n_right = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample sample = samples[i];
    const std::uint32_t code = source.at(sample.row);
    const bool left = (code <= cut.last_left) | (code == missing_to_left);
    samples[n_left] = sample;  // overwritten by the next where this one goes right
    spare[n_right] = sample;
    n_left += left;
    n_right += !left;
  }
  std::copy_n(spare, n_right, samples.data() + n_left);
  return n_left;
}

}  // namespace hardwood
