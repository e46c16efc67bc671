// Sends a node's samples to its children, keeping their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hardwood/order.hpp"
#include "hardwood/split.hpp"

namespace hardwood {

template <class Code, class Sample>
std::size_t partition(std::span<Sample> samples, CodeSource source, std::uint32_t last_left,
                      std::uint32_t missing_to_left, Sample* spare) {
  std::size_t n_left = 0, n_right = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample sample = samples[i];
    const std::uint32_t code = source.at<Code>(sample.row);
    const bool left = (code <= last_left) | (code == missing_to_left);
    samples[n_left] = sample;  // overwritten by the next where this one goes right
    spare[n_right] = sample;
    n_left += left;
    n_right += !left;
  }
  std::copy_n(spare, n_right, samples.data() + n_left);
  return n_left;
}

// Returns the number of samples that go left.
template <class Sample>
std::size_t partition(std::span<Sample> samples, const Codes& codes, const Cut& cut,
                      Sample* spare) {
  const CodeSource source = code_source(codes, cut.feature, samples.size());
  // A code that no sample has stands for "missing values go right".
  const std::uint32_t missing_to_left =
      cut.missing_left ? codes.columns[cut.feature].n_codes : std::uint32_t{1} << 31;
  return source.wide
             ? partition<std::uint16_t>(samples, source, cut.last_left, missing_to_left, spare)
             : partition<std::uint8_t>(samples, source, cut.last_left, missing_to_left, spare);
}

}  // namespace hardwood
