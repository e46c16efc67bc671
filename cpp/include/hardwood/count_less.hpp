// How many of a few keys are less than one of them.
//
// The one place that names instructions: compilers do not turn a sum of comparisons into a
// population count of the comparison's mask, which is what makes ranking small nodes cheap.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

namespace hardwood {

// Keys from the n-th on are at least as large as any before them.
template <class Key, std::size_t N>
std::size_t count_less(const std::array<Key, N>& keys, std::size_t n, Key key) {
  static_assert(sizeof(Key) == 2 || sizeof(Key) == 4);
#if defined(__AVX512BW__)
  constexpr std::size_t lanes = 64 / sizeof(Key);
  static_assert(N % lanes == 0);
  std::size_t less = 0;
  for (std::size_t j = 0; j < n; j += lanes) {
    const __m512i some = _mm512_load_si512(keys.data() + j);
    if constexpr (sizeof(Key) == 2)
      less += static_cast<std::size_t>(
          std::popcount(_mm512_cmplt_epu16_mask(some, _mm512_set1_epi16(static_cast<short>(key)))));
    else
      less += static_cast<std::size_t>(std::popcount(
          unsigned{_mm512_cmplt_epu32_mask(some, _mm512_set1_epi32(static_cast<int>(key)))}));
  }
  return less;
#else
  Key less = 0;
  for (std::size_t j = 0; j < n; ++j) less = static_cast<Key>(less + (keys[j] < key));
  return static_cast<std::size_t>(less);
#endif
}

}  // namespace hardwood
