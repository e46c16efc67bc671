// Reads the codes of a node's samples, from whichever layout is nearer.
//
// Column by column, a feature's codes of neighbouring rows share cache lines, which pays in nodes
// with many of the rows. Row by row, the features of one row do, which pays in the others, and then
// all the features that a node looks at are read in one pass over its rows.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "hardwood/codes.hpp"

namespace hardwood {

// Where a feature's codes are found, in either layout.
struct CodeSource {
  const std::uint8_t* base;
  std::size_t stride;
  std::uint16_t mask;

  std::uint16_t at(std::uint32_t row) const {
    std::uint16_t code;
    std::memcpy(&code, base + row * stride, 2);
    return code & mask;
  }
};

inline CodeSource source_in_rows(const Codes& codes, std::size_t feature) {
  const RowField& field = codes.fields[feature];
  return {codes.rows.data() + field.offset, codes.row_stride, field.mask};
}

inline CodeSource source_in_column(const Codes& codes, std::size_t feature) {
  const Column& column = codes.columns[feature];
  return {column.bytes.data(), column.wide ? std::size_t{2} : std::size_t{1},
          codes.fields[feature].mask};
}

// Whether reading n_features of n_rows rows touches fewer cache lines row by row.
inline bool rows_are_nearer(const Codes& codes, std::size_t n_rows, std::size_t n_features) {
  const double n = static_cast<double>(n_rows), all = static_cast<double>(codes.n_rows);
  const double lines_a_row =
      std::min(static_cast<double>(n_features),
               std::ceil(static_cast<double>(codes.row_stride) / kCacheLine));
  const double lines_a_row_in_columns =
      static_cast<double>(n_features) * std::min(1.0, all / (kCacheLine * n));
  return lines_a_row <= lines_a_row_in_columns;
}

inline void prefetch(const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

// The codes of N features, row by row: those of all features of a row before those of the next.
template <std::size_t N, class Sample>
void gather_together(const Codes& codes, const std::uint32_t* features,
                     std::span<const Sample> samples, std::uint16_t* out, std::size_t room) {
  constexpr std::size_t ahead = 12;
  const bool one_line = codes.row_stride <= kCacheLine;
  std::array<CodeSource, N> sources;
  for (std::size_t j = 0; j < N; ++j) sources[j] = source_in_rows(codes, features[j]);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::uint32_t row = samples[i].row;
    const std::uint32_t later = samples[std::min(i + ahead, samples.size() - 1)].row;
    if (one_line)
      prefetch(sources[0].base + later * sources[0].stride);
    else
      for (const CodeSource& source : sources) prefetch(source.base + later * source.stride);
    for (std::size_t j = 0; j < N; ++j) out[j * room + i] = sources[j].at(row);
  }
}

// out[f][i] is the code of feature f in sample i; the rows of `out` are `room` apart.
template <class Sample>
void gather(const Codes& codes, std::span<const std::uint32_t> features,
            std::span<const Sample> samples, std::uint16_t* out, std::size_t room) {
  const std::size_t n = features.size();
  std::size_t f = 0;
  if (rows_are_nearer(codes, samples.size(), n)) {
    auto next = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
      gather_together<N>(codes, &features[f], samples, out + f * room, room);
      f += N;
    };
    while (n - f >= 8) next(std::integral_constant<std::size_t, 8>{});
    if (n - f >= 4) next(std::integral_constant<std::size_t, 4>{});
    if (n - f >= 2) next(std::integral_constant<std::size_t, 2>{});
    if (n - f >= 1) next(std::integral_constant<std::size_t, 1>{});
  }
  for (; f < n; ++f) {
    const CodeSource source = source_in_column(codes, features[f]);
    std::uint16_t* to = out + f * room;
    for (std::size_t i = 0; i < samples.size(); ++i) to[i] = source.at(samples[i].row);
  }
}

}  // namespace hardwood
