// Sends a node's samples to its children, keeping their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardwood/cut.hpp"
#include "hardwood/gather.hpp"

namespace hardwood {

// The same for any rule that sends codes left.
template <class Sample, class GoesLeft>
std::size_t partition(std::span<Sample> samples, const CodeSource& source,
                      const GoesLeft& goes_left, Sample* spare) {
  std::size_t n_left = 0, n_right = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample sample = samples[i];
    const bool left = goes_left(source.at(sample.row));
    samples[n_left] = sample;  // overwritten by the next where this one goes right
    spare[n_right] = sample;
    n_left += left;
    n_right += !left;
  }
  std::copy_n(spare, n_right, samples.data() + n_left);
  return n_left;
}

// Returns the number of samples that go left. `is_left` has room for all codes of a column, and is
// all zero between uses.
template <class Sample>
std::size_t partition(std::span<Sample> samples, const Codes& codes, const CodeSource& source,
                      const Cut& cut, Sample* spare, std::vector<std::uint8_t>& is_left) {
  if (cut.is_set()) {
    for (const std::uint16_t code : cut.left_codes()) is_left[code] = 1;
    const std::size_t n_left =
        partition(samples, source, [&](std::uint32_t code) { return is_left[code] != 0; }, spare);
    for (const std::uint16_t code : cut.left_codes()) is_left[code] = 0;
    return n_left;
  }
  // A code that no sample has stands for "missing values go right".
  const std::uint32_t missing_to_left =
      cut.missing_left ? codes.columns[cut.feature].n_codes : std::uint32_t{1} << 31;
  const std::uint32_t last_left = cut.last_left;
  return partition(
      samples, source,
      [&](std::uint32_t code) { return (code <= last_left) | (code == missing_to_left); }, spare);
}

}  // namespace hardwood
