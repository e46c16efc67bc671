// Rows to columns, in squares that fit the registers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace hardwood {

// As many numbers as a square has rows, and columns.
template <class T>
inline constexpr std::size_t kSquare = sizeof(T) < 16 ? 16 / sizeof(T) : 1;

// out(j)[i] = in(i)[j], for i and j below kSquare<T>. in(i) and out(j) point to that many numbers.
template <class T, class In, class Out>
void transpose_square(const In& in, const Out& out) {
  constexpr std::size_t n = kSquare<T>;
#if defined(__GNUC__) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
  // Each step interleaves the first half of the vectors with the second. After one step for each
  // bit of n, every number's place has its row and its column exchanged.
  typedef T Vector __attribute__((vector_size(16)));
  Vector now[n], next[n];
  for (std::size_t i = 0; i < n; ++i) std::memcpy(&now[i], in(i), 16);
  auto interleave = [&]<std::size_t... k>(std::index_sequence<k...>) {
    for (std::size_t i = 0; i < n / 2; ++i) {
      next[2 * i] = __builtin_shufflevector(now[i], now[i + n / 2], (k / 2 + (k % 2 ? n : 0))...);
      next[2 * i + 1] =
          __builtin_shufflevector(now[i], now[i + n / 2], (n / 2 + k / 2 + (k % 2 ? n : 0))...);
    }
    std::copy_n(next, n, now);
  };
  for (std::size_t step = 1; step < n; step *= 2) interleave(std::make_index_sequence<n>());
  for (std::size_t j = 0; j < n; ++j) std::memcpy(out(j), &now[j], 16);
  return;
#endif
#endif
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) std::memcpy(out(j) + i, in(i) + j, sizeof(T));
}

}  // namespace hardwood
