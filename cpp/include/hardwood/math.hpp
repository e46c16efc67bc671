// Logarithms and powers that give the same bits on every processor.
//
// The C library's log and pow use fused multiply-adds where the processor has them and so differ in
// the last bit from machine to machine. These are plain polynomials in double precision, accurate
// to a few units in the last place, and simple enough for the compiler to vectorise.
#pragma once

#include <bit>
#include <cstdint>

namespace hardwood {
namespace math {

inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;
inline constexpr double kLog2E = 0x1.71547652b82fep+0;

// 2 atanh(s) = log((1 + s) / (1 - s)) for |s| <= 0.1716, where the series needs eleven terms.
inline double twice_atanh(double s) {
  const double z = s * s;
  double sum = 1.0 / 21;
  sum = sum * z + 1.0 / 19;
  sum = sum * z + 1.0 / 17;
  sum = sum * z + 1.0 / 15;
  sum = sum * z + 1.0 / 13;
  sum = sum * z + 1.0 / 11;
  sum = sum * z + 1.0 / 9;
  sum = sum * z + 1.0 / 7;
  sum = sum * z + 1.0 / 5;
  sum = sum * z + 1.0 / 3;
  return 2 * s + 2 * s * (z * sum);
}

// log(x) for normal x > 0: x = 2^e m with m in [sqrt(1/2), sqrt(2)).
inline double log(double x) {
  constexpr std::uint64_t sqrt_half = 0x3fe6a09e667f3bcd;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const std::int64_t shifted = static_cast<std::int64_t>(bits - sqrt_half);
  const std::int64_t exponent = shifted >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << 52));
  return static_cast<double>(exponent) * kLn2 + twice_atanh((m - 1) / (m + 1));
}

// log(1 + t) for t >= 0, accurate for small t.
inline double log1p(double t) { return t < 0.4 ? twice_atanh(t / (2 + t)) : log(1 + t); }

// exp(y) - 1 for |y| <= 0.35.
inline double expm1_small(double y) {
  double sum = 1.0 / 6227020800;  // 1/13!
  sum = sum * y + 1.0 / 479001600;
  sum = sum * y + 1.0 / 39916800;
  sum = sum * y + 1.0 / 3628800;
  sum = sum * y + 1.0 / 362880;
  sum = sum * y + 1.0 / 40320;
  sum = sum * y + 1.0 / 5040;
  sum = sum * y + 1.0 / 720;
  sum = sum * y + 1.0 / 120;
  sum = sum * y + 1.0 / 24;
  sum = sum * y + 1.0 / 6;
  sum = sum * y + 1.0 / 2;
  return y + y * y * sum;
}

// exp(y) for |y| < 700.
inline double exp(double y) {
  // Adding and taking away 1.5 * 2^52 rounds to the nearest whole number, whatever the compiler
  // vectorises it to.
  constexpr double rounder = 0x1.8p52;
  const double shifted = y * kLog2E + rounder;
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(shifted) << 52;
  const double whole = shifted - rounder;
  const double rest = (y - whole * 0x1.62e42fee00000p-1) - whole * 0x1.a39ef35793c76p-33;
  const double one_to_two = 1 + expm1_small(rest);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(one_to_two) + exponent);
}

// exp(y) - 1 for y >= 0, accurate for small y.
inline double expm1(double y) { return y < 0.35 ? expm1_small(y) : exp(y) - 1; }

// x^p for x > 0 with |p log x| < 700.
inline double pow(double x, double p) { return exp(p * log(x)); }

}  // namespace math
}  // namespace hardwood
