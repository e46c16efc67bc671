// Random numbers: xoshiro256++ seeded by splitmix64.
//
// A stream is made from (seed, index): tree i of a forest draws from stream i, whichever thread
// grows it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace hardwood {

class Rng {
 public:
  Rng(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t mixed = seed;
    mixed = split_mix(mixed) ^ index;
    for (auto& word : state_) word = split_mix(mixed);
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // A whole number in [0, bound), each equally likely (Lemire's multiplication with rejection).
  std::uint32_t below(std::uint32_t bound) { return below_with_fraction(bound).below; }

  // The same, and a random number of 32 bits.
  struct WithFraction {
    std::uint32_t below, fraction;
  };
  WithFraction below_with_fraction(std::uint32_t bound) {
    std::uint64_t random = next(), product = (random >> 32) * bound;
    if (static_cast<std::uint32_t>(product) < bound) {
      const std::uint32_t threshold = (0u - bound) % bound;
      while (static_cast<std::uint32_t>(product) < threshold) {
        random = next();
        product = (random >> 32) * bound;
      }
    }
    return {static_cast<std::uint32_t>(product >> 32), static_cast<std::uint32_t>(random)};
  }

  // A real number in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  static std::uint64_t split_mix(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace hardwood
