// The samples of a node in the order of one feature's codes.
//
// Every search for a cut walks the same list of entries (code, class, weight), sorted by code.
// Which way makes the list depends on the node: a class histogram over the codes where the samples
// outnumber its cells (one entry then stands for all samples of a cell), a counting sort where they
// outnumber the codes, and otherwise a sort of the codes themselves, all of them free of
// unpredictable branches.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "hardwood/codes.hpp"
#include "hardwood/sample.hpp"

namespace hardwood {

// Where a feature's codes are found, in either layout.
struct CodeSource {
  const std::uint8_t* base;
  std::size_t stride;
  bool wide;

  template <class Code>
  Code at(std::uint32_t row) const {
    Code code;
    std::memcpy(&code, base + row * stride, sizeof(Code));
    return code;
  }
};

// Nodes of up to this many rows read the row-by-row copy of the codes.
inline constexpr std::size_t kRowLayoutLimit = 2048;

inline CodeSource code_source(const Codes& codes, std::size_t feature, std::size_t n_node_rows) {
  const Column& column = codes.columns[feature];
  if (n_node_rows <= kRowLayoutLimit)
    return {codes.rows.data() + column.row_offset, codes.row_stride, column.wide};
  return {column.bytes.data(), column.wide ? std::size_t{2} : std::size_t{1}, column.wide};
}

struct CodeRange {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t size() const { return last - first + 1; }
};

// Room for the codes and entries of a node; made once a tree.
template <class Sample>
struct Workspace {
  using Weight = typename Sample::Weight;

  std::vector<std::uint16_t> codes;  // of the node's samples, in the samples' order

  // The entries, one array a member.
  std::size_t size = 0;
  std::vector<std::uint16_t> code;
  std::vector<std::uint16_t> label;
  std::vector<Weight> weight;
  bool one_row_each = true;  // false where an entry may stand for several rows

  std::vector<Weight> histogram;      // [code][class], all zero between uses
  std::vector<std::uint32_t> starts;  // for counting sorts, all zero between uses
  std::vector<std::uint32_t> keys, spare_keys;

  Workspace(std::size_t n_samples, std::uint32_t most_codes)
      : codes(n_samples),
        code(n_samples + 1),
        label(n_samples),
        weight(n_samples),
        starts(std::max<std::size_t>(most_codes + 2, 257)) {}
};

// Reads the codes of the node's samples.
template <class Code, class Sample>
CodeRange gather(std::span<const Sample> samples, CodeSource source, std::uint16_t* out) {
  std::uint16_t first = 65535, last = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::uint16_t code = source.at<Code>(samples[i].row);
    out[i] = code;
    first = std::min(first, code);
    last = std::max(last, code);
  }
  return {first, last};
}

template <class Sample>
CodeRange gather(std::span<const Sample> samples, CodeSource source, Workspace<Sample>& space) {
  return source.wide ? gather<std::uint16_t>(samples, source, space.codes.data())
                     : gather<std::uint8_t>(samples, source, space.codes.data());
}

namespace ordering {

template <class Sample>
void by_histogram(std::span<const Sample> samples, CodeRange range, std::size_t n_classes,
                  Workspace<Sample>& space) {
  const std::size_t n_cells = range.size() * n_classes;
  if (space.histogram.size() < n_cells) space.histogram.resize(n_cells, 0);
  auto* histogram = space.histogram.data();
  const std::uint16_t* codes = space.codes.data();
  for (std::size_t i = 0; i < samples.size(); ++i)
    histogram[(codes[i] - range.first) * n_classes + samples[i].label] += samples[i].weight;
  std::size_t m = 0;
  for (std::uint32_t c = 0; c < range.size(); ++c)
    for (std::size_t k = 0; k < n_classes; ++k) {
      const auto weight = std::exchange(histogram[c * n_classes + k], 0);
      if (weight == 0) continue;
      space.code[m] = static_cast<std::uint16_t>(range.first + c);
      space.label[m] = static_cast<std::uint16_t>(k);
      space.weight[m] = weight;
      ++m;
    }
  space.size = m;
  space.one_row_each = false;
}

template <class Sample>
void by_counting(std::span<const Sample> samples, CodeRange range, Workspace<Sample>& space) {
  std::uint32_t* starts = space.starts.data();
  const std::uint16_t* codes = space.codes.data();
  for (std::size_t i = 0; i < samples.size(); ++i) ++starts[codes[i] - range.first + 1];
  for (std::uint32_t c = 1; c < range.size(); ++c) starts[c + 1] += starts[c];
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::uint32_t place = starts[codes[i] - range.first]++;
    space.code[place] = codes[i];
    space.label[place] = samples[i].label;
    space.weight[place] = samples[i].weight;
  }
  std::fill_n(starts, range.size() + 1, 0u);
}

// Every key's place is the number of smaller keys: all pairs are compared, which for a few dozen
// keys is a handful of vector instructions each.
inline void rank_sort(const std::uint32_t* keys, std::uint32_t* sorted, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto key = static_cast<std::int32_t>(keys[i]);
    std::int32_t rank = 0;
    for (std::size_t j = 0; j < n; ++j) rank += static_cast<std::int32_t>(keys[j]) < key;
    sorted[rank] = keys[i];
  }
}

// Two passes over the code's bytes, which stand above the sample's index in the key.
inline void radix_sort(std::uint32_t* keys, std::uint32_t* spare, std::size_t n) {
  for (const int shift : {15, 23}) {
    std::array<std::uint32_t, 257> starts{};
    for (std::size_t i = 0; i < n; ++i) ++starts[((keys[i] >> shift) & 255) + 1];
    for (std::size_t b = 1; b < 256; ++b) starts[b + 1] += starts[b];
    for (std::size_t i = 0; i < n; ++i) spare[starts[(keys[i] >> shift) & 255]++] = keys[i];
    std::swap(keys, spare);
  }
}

inline constexpr std::size_t kRankSortLimit = 64;
inline constexpr int kIndexBits = 15;  // below the code in a key; keys stay positive as int32

// Fewer samples than codes. Keys hold the code's distance from the first and the sample's index.
template <class Sample>
void by_sorting(std::span<const Sample> samples, CodeRange range, Workspace<Sample>& space) {
  const std::size_t n = samples.size();
  if (space.keys.size() < n) {
    space.keys.resize(n);
    space.spare_keys.resize(n);
  }
  std::uint32_t* keys = space.keys.data();
  for (std::size_t i = 0; i < n; ++i)
    keys[i] = (space.codes[i] - range.first) << kIndexBits | static_cast<std::uint32_t>(i);
  if (n <= kRankSortLimit) {
    rank_sort(keys, space.spare_keys.data(), n);
    keys = space.spare_keys.data();
  } else {
    radix_sort(keys, space.spare_keys.data(), n);
  }
  for (std::size_t j = 0; j < n; ++j) {
    const std::uint32_t i = keys[j] & ((1u << kIndexBits) - 1);
    space.code[j] = static_cast<std::uint16_t>(range.first + (keys[j] >> kIndexBits));
    space.label[j] = samples[i].label;
    space.weight[j] = samples[i].weight;
  }
}

}  // namespace ordering

// Fills the workspace's entries from its codes. `may_merge` allows entries of several rows.
template <class Sample>
void order_samples(std::span<const Sample> samples, CodeRange range, std::size_t n_classes,
                   bool may_merge, Workspace<Sample>& space) {
  const std::size_t n = samples.size();
  if (may_merge && range.size() * n_classes <= n) {
    ordering::by_histogram(samples, range, n_classes, space);
    return;
  }
  if (range.size() <= 2 * n && n > ordering::kRankSortLimit)
    ordering::by_counting(samples, range, space);
  else
    ordering::by_sorting(samples, range, space);
  space.size = n;
  space.one_row_each = true;
}

}  // namespace hardwood
