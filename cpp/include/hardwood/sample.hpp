// A row as the grower carries it from node to node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace hardwood {

// Bootstrap multiplicities and other whole-number weights.
struct WholeSample {
  using Weight = std::uint32_t;
  std::uint32_t row;
  std::uint16_t label;
  std::uint16_t weight;
};

struct RealSample {
  using Weight = double;
  std::uint32_t row;
  std::uint16_t label;
  double weight;
};

template <class Sample>
inline constexpr bool kWhole = std::is_same_v<Sample, WholeSample>;

// Adds the samples' weights to the counts of their classes.
template <class Sample>
void add_counts(std::span<const Sample> samples, std::span<double> counts) {
  for (const Sample& s : samples) counts[s.label] += static_cast<double>(s.weight);
}

}  // namespace hardwood
