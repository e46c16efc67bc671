// Numbers side by side, as many as a vector register holds.
//
// Compilers turn the arithmetic of such vectors into the instructions of whatever set they compile
// for. Where they have no such vectors, one number stands for one; so only what numbers can do as
// well is done with them: arithmetic, comparisons and `? :`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hardwood {

#if defined(__AVX512F__)
inline constexpr std::size_t kMostLanes = 16, kFewestLanes = 8;
#elif defined(__AVX2__)
inline constexpr std::size_t kMostLanes = 8, kFewestLanes = 8;
#elif defined(__GNUC__)
inline constexpr std::size_t kMostLanes = 4, kFewestLanes = 4;
#else
inline constexpr std::size_t kMostLanes = 1, kFewestLanes = 1;
#endif

namespace lanes {

template <class T, std::size_t N>
struct Of {
#if defined(__GNUC__)
  typedef T type __attribute__((vector_size(N * sizeof(T))));
#else
  static_assert(N == 1);
  using type = T;
#endif
};

}  // namespace lanes

template <class T, std::size_t N>
using Lanes = typename lanes::Of<T, N>::type;

// The numbers from a vector's address on, which is a multiple of its size.
template <std::size_t N, class T>
Lanes<T, N>& as_lanes(T* numbers) {
  return *reinterpret_cast<Lanes<T, N>*>(numbers);
}
template <std::size_t N, class T>
const Lanes<T, N>& as_lanes(const T* numbers) {
  return *reinterpret_cast<const Lanes<T, N>*>(numbers);
}

}  // namespace hardwood
