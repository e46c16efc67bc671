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
#include <utility>

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
  return {column.bytes.get(), column.wide ? std::size_t{2} : std::size_t{1},
          codes.fields[feature].mask};
}

// Whether reading n_features of n_rows rows touches fewer cache lines row by row. The lines of a
// row are neighbours, and most are read in one pass: one of a column costs as much as several of
// them.
inline bool rows_are_nearer(const Codes& codes, std::size_t n_rows, std::size_t n_features) {
  constexpr double column_line_cost = 3;
  const double n = static_cast<double>(n_rows), all = static_cast<double>(codes.n_rows);
  const double lines_a_row =
      std::min(static_cast<double>(n_features),
               std::ceil(static_cast<double>(codes.row_stride) / kCacheLine));
  const double lines_a_row_in_columns =
      static_cast<double>(n_features) * std::min(1.0, all / (kCacheLine * n));
  return lines_a_row <= column_line_cost * lines_a_row_in_columns;
}

inline void prefetch(const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

// A feature that is read in rows, and where its codes go.
struct RowRead {
  std::uint32_t offset;
  std::uint16_t mask;
  std::uint16_t* out;
};

// The codes of N features, row by row: those of all features of a row before those of the next.
// Features whose offsets are in order share the fetches of their lines.
template <std::size_t N, class Sample>
void gather_together(const Codes& codes, const RowRead* reads, std::span<const Sample> samples) {
  constexpr std::size_t ahead = 16;
  const std::uint8_t* const rows = codes.rows.data();
  const std::size_t stride = codes.row_stride;
  std::array<RowRead, N> own;
  std::copy_n(reads, N, own.begin());
  std::array<std::uint32_t, N> lines;  // where those cache lines begin that are read
  std::size_t n_lines = 0;
  for (const RowRead& read : own) {
    const auto line = static_cast<std::uint32_t>(read.offset / kCacheLine * kCacheLine);
    if (n_lines == 0 || lines[n_lines - 1] != line) lines[n_lines++] = line;
  }
  const std::size_t n = samples.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint8_t* const later = rows + samples[std::min(i + ahead, n - 1)].row * stride;
    for (std::size_t l = 0; l < n_lines; ++l) prefetch(later + lines[l]);
    const std::uint8_t* const row = rows + samples[i].row * stride;
    for (std::size_t j = 0; j < N; ++j) {
      std::uint16_t code;
      std::memcpy(&code, row + own[j].offset, 2);
      own[j].out[i] = code & own[j].mask;
    }
  }
}

// The most features that are gathered at a time.
inline constexpr std::size_t kMostGathered = 32;

// out[f][i] is the code of feature f in sample i; the rows of `out` are `room` apart.
template <class Sample>
void gather(const Codes& codes, std::span<const std::uint32_t> features,
            std::span<const Sample> samples, std::uint16_t* out, std::size_t room) {
  const std::size_t n = features.size();
  if (!rows_are_nearer(codes, samples.size(), n)) {
    constexpr std::size_t ahead = 48;
    for (std::size_t f = 0; f < n; ++f) {
      const CodeSource source = source_in_column(codes, features[f]);
      std::uint16_t* to = out + f * room;
      const std::size_t last = samples.size() - std::min(samples.size(), ahead);
      std::size_t i = 0;
      for (; i < last; ++i) {
        prefetch(source.base + samples[i + ahead].row * source.stride);
        to[i] = source.at(samples[i].row);
      }
      for (; i < samples.size(); ++i) to[i] = source.at(samples[i].row);
    }
    return;
  }
  // Neighbours in a row share its cache lines: they are read together, where there are enough rows.
  constexpr std::size_t worth_sorting = 64;
  std::array<RowRead, kMostGathered> reads;
  for (std::size_t f = 0; f < n; ++f) {
    const RowField& field = codes.fields[features[f]];
    reads[f] = {field.offset, field.mask, out + f * room};
  }
  if (samples.size() >= worth_sorting)
    std::sort(reads.begin(), reads.begin() + static_cast<std::ptrdiff_t>(n),
              [](const RowRead& a, const RowRead& b) { return a.offset < b.offset; });
  std::size_t f = 0;
  for (; n - f > 8; f += 8) gather_together<8>(codes, &reads[f], samples);
  // All that are left in one pass, as each would read all rows.
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    ((n - f == k + 1 ? gather_together<k + 1>(codes, &reads[f], samples) : void()), ...);
  }(std::make_index_sequence<8>{});
}

}  // namespace hardwood
