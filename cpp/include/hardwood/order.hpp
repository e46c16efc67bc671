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
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "hardwood/codes.hpp"
#include "hardwood/count_less.hpp"
#include "hardwood/gather.hpp"
#include "hardwood/sample.hpp"
#include "hardwood/sparse_node.hpp"

namespace hardwood {

struct CodeRange {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t size() const { return last - first + 1; }
};

inline CodeRange range_of(std::span<const std::uint16_t> codes) {
  std::uint16_t first = 65535, last = 0;
  for (const std::uint16_t code : codes) {
    first = code < first ? code : first;
    last = code > last ? code : last;
  }
  return {first, last};
}

// One or several samples of a class that have the same code. Its members stand together, as a sort
// then writes an entry with one store.
template <class Weight>
struct Entry {
  std::uint16_t code;
  std::uint16_t label;
  Weight weight;
};

// Room for the entries of a node; one a thread.
template <class Sample>
struct Workspace {
  using Weight = typename Sample::Weight;

  std::size_t size = 0;
  std::vector<Entry<Weight>> entry;
  std::size_t first = 0;     // where the next list of entries is to begin
  bool one_row_each = true;  // false where an entry may stand for several rows

  std::vector<Weight> histogram;      // [code][class], all zero between uses
  std::vector<std::uint32_t> starts;  // for counting sorts, all zero between uses
  std::vector<std::uint32_t> keys;
  std::vector<std::uint64_t> sparse_keys;
  std::vector<Sample> others;  // samples that do not have a common code, and their codes
  std::vector<std::uint16_t> other_codes;

  explicit Workspace(std::uint32_t most_codes)
      : starts(std::max<std::size_t>(most_codes + 2, 257)) {}

  void make_room(std::size_t n_samples) {
    if (entry.size() <= n_samples) entry.resize(n_samples + 1);
  }

  std::span<Entry<Weight>> entries() { return std::span(entry).first(size); }
  std::span<const Entry<Weight>> entries() const { return std::span(entry).first(size); }

  Weight* cells(std::size_t n) {
    if (histogram.size() < n) histogram.resize(n, 0);
    return histogram.data();
  }

  void set(std::size_t place, std::uint16_t its_code, const Sample& sample) {
    entry[first + place] = {its_code, sample.label, sample.weight};
  }
};

namespace ordering {

// Makes entries of the cells that are not empty, and empties them.
template <class Sample>
void take_histogram(CodeRange range, std::size_t n_classes, Workspace<Sample>& space) {
  auto* histogram = space.histogram.data();
  auto* const begin = space.entry.data() + space.first;
  auto* end = begin;
  for (std::uint32_t c = 0; c < range.size(); ++c)
    for (std::size_t k = 0; k < n_classes; ++k) {
      const auto weight = std::exchange(histogram[c * n_classes + k], 0);
      if (weight == 0) continue;
      *end++ = {static_cast<std::uint16_t>(range.first + c), static_cast<std::uint16_t>(k), weight};
    }
  space.size = static_cast<std::size_t>(end - begin);
  space.one_row_each = false;
}

template <class Sample>
void by_histogram(std::span<const Sample> samples, const std::uint16_t* codes, CodeRange range,
                  std::size_t n_classes, Workspace<Sample>& space) {
  // Neighbours often have the same cell. In histograms of their own, none waits for the other.
  constexpr std::size_t n_sets = 4, worth_sets = 4;
  const std::size_t n = samples.size(), n_cells = range.size() * n_classes;
  const bool several = kWhole<Sample> && n >= worth_sets * n_sets * n_cells;
  auto* histogram = space.cells(several ? n_sets * n_cells : n_cells);
  auto add = [&](std::size_t i, auto* set) {
    set[(codes[i] - range.first) * n_classes + samples[i].label] += samples[i].weight;
  };
  std::size_t i = 0;
  if (several) {
    for (; i + n_sets <= n; i += n_sets)
      for (std::size_t s = 0; s < n_sets; ++s) add(i + s, histogram + s * n_cells);
    for (std::size_t cell = 0; cell < n_cells; ++cell)
      for (std::size_t s = 1; s < n_sets; ++s)
        histogram[cell] += std::exchange(histogram[s * n_cells + cell], 0);
  }
  for (; i < n; ++i) add(i, histogram);
  take_histogram(range, n_classes, space);
}

template <class Sample>
void by_counting(std::span<const Sample> samples, const std::uint16_t* codes, CodeRange range,
                 Workspace<Sample>& space) {
  std::uint32_t* starts = space.starts.data();
  for (std::size_t i = 0; i < samples.size(); ++i) ++starts[codes[i] - range.first + 1];
  for (std::uint32_t c = 1; c < range.size(); ++c) starts[c + 1] += starts[c];
  for (std::size_t i = 0; i < samples.size(); ++i)
    space.set(starts[codes[i] - range.first]++, codes[i], samples[i]);
  std::fill_n(starts, range.size() + 1, 0u);
}

inline constexpr std::size_t kRankSortLimit = 128;

// Every key's place is the number of smaller keys: all pairs are compared, which for a few dozen
// keys is a few vector instructions each. Keys hold the code above the sample's index, so no two
// are equal.
template <class Key, class Sample>
void by_ranking(std::span<const Sample> samples, const std::uint16_t* codes, CodeRange range,
                int index_bits, Workspace<Sample>& space) {
  const std::size_t n = samples.size();
  alignas(kCacheLine) std::array<Key, kRankSortLimit> keys;
  constexpr std::size_t lanes = kCacheLine / sizeof(Key);
  for (std::size_t i = n; i % lanes; ++i) keys[i] = std::numeric_limits<Key>::max();
  for (std::size_t i = 0; i < n; ++i)
    keys[i] = static_cast<Key>((codes[i] - range.first) << index_bits | i);
  for (std::size_t i = 0; i < n; ++i) space.set(count_less(keys, n, keys[i]), codes[i], samples[i]);
}

template <class Sample>
void by_ranking(std::span<const Sample> samples, const std::uint16_t* codes, CodeRange range,
                Workspace<Sample>& space) {
  const int index_bits = std::bit_width(samples.size() - 1);
  if (std::bit_width(range.size() - 1) + index_bits < 16)  // the largest key fills up the array
    by_ranking<std::uint16_t>(samples, codes, range, index_bits, space);
  else
    by_ranking<std::uint32_t>(samples, codes, range, index_bits, space);
}

// Fewer samples than codes: two passes over the halves of the code's bits. Between them, a key
// holds the code above the sample's number.
template <class Sample>
void by_sorting(std::span<const Sample> samples, const std::uint16_t* codes, CodeRange range,
                Workspace<Sample>& space) {
  const std::size_t n = samples.size();
  if (space.keys.size() < n) space.keys.resize(n);
  std::uint32_t* keys = space.keys.data();
  std::array<std::uint32_t, 257> low_starts, high_starts;
  const int low_bits = (std::bit_width(range.size() - 1) + 1) / 2;
  const std::uint32_t low_mask = (1u << low_bits) - 1;
  std::fill_n(low_starts.begin(), low_mask + 2, 0u);
  std::fill_n(high_starts.begin(), low_mask + 2, 0u);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t code = codes[i] - range.first;
    ++low_starts[(code & low_mask) + 1];
    ++high_starts[(code >> low_bits) + 1];
  }
  for (std::size_t b = 1; b < low_mask; ++b) {
    low_starts[b + 1] += low_starts[b];
    high_starts[b + 1] += high_starts[b];
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t code = codes[i] - range.first;
    keys[low_starts[code & low_mask]++] = code << 16 | static_cast<std::uint32_t>(i);
  }
  const int high_shift = 16 + low_bits;
  for (std::size_t j = 0; j < n; ++j) {
    const std::uint32_t i = keys[j] & 65535;
    space.set(high_starts[keys[j] >> high_shift]++, codes[i], samples[i]);
  }
}

}  // namespace ordering

// Where a tree's samples stand, by row: samples[place[row]], or kNowhere.
struct Places {
  static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
  const std::uint32_t* place;
  std::uint32_t begin;  // of the node's samples among the tree's
};

// The entries of a column that is mostly one code, from a node's samples that have another and from
// the node's class counts: what the others leave of these has the common code.
template <class Sample>
void order_listed(std::span<const Sample> samples, const Places& places, const Column& column,
                  const CodeSource& source, std::span<const double> node_counts,
                  Workspace<Sample>& space) {
  const std::size_t n_classes = node_counts.size();
  const CodeRange range{0, column.n_codes - 1 + column.has_missing};
  auto* histogram = space.cells(range.size() * n_classes);
  auto* common = histogram + column.common * n_classes;
  for (std::size_t k = 0; k < n_classes; ++k)
    common[k] = static_cast<typename Sample::Weight>(node_counts[k]);
  const auto n = static_cast<std::uint32_t>(samples.size());
  for (const std::uint32_t row : column.other_rows) {
    const std::uint32_t place = places.place[row] - places.begin;  // large if not in the node
    const bool here = place < n;
    const Sample& sample = samples[here ? place : 0];
    const auto weight = here ? sample.weight : 0;
    histogram[source.at(row) * n_classes + sample.label] += weight;
    common[sample.label] -= weight;
  }
  ordering::take_histogram(range, n_classes, space);
}

// The entries of a sparse column, one for each code and class, from the samples whose code is not
// the common one: what they leave of the node's counts has it.
inline void order_sparse(std::span<const WholeSample> samples, std::span<const SampleCode> listed,
                         std::uint32_t common, std::span<const double> node_counts,
                         Workspace<WholeSample>& space) {
  using Weight = WholeSample::Weight;
  const std::size_t n_classes = node_counts.size();
  Weight* rest = space.cells(n_classes);
  for (std::size_t k = 0; k < n_classes; ++k) rest[k] = static_cast<Weight>(node_counts[k]);
  auto& keys = space.sparse_keys;  // code, class and weight, from the highest bits down
  keys.clear();
  for (const SampleCode& other : listed) {
    const WholeSample& sample = samples[other.sample];
    keys.push_back(std::uint64_t{other.code} << 48 | std::uint64_t{sample.label} << 32 |
                   sample.weight);
    rest[sample.label] -= sample.weight;
  }
  std::ranges::sort(keys);
  std::size_t m = 0;
  auto add = [&](std::uint64_t code, std::uint64_t label, Weight weight) {
    space.entry[m++] = {static_cast<std::uint16_t>(code), static_cast<std::uint16_t>(label),
                        weight};
  };
  auto add_rest = [&] {
    for (std::size_t k = 0; k < n_classes; ++k)
      if (const Weight weight = std::exchange(rest[k], 0)) add(common, k, weight);
  };
  bool rest_is_next = true;
  for (std::size_t i = 0; i < keys.size();) {
    const std::uint64_t cell = keys[i] >> 32;
    if (rest_is_next && cell >> 16 > common) {
      add_rest();
      rest_is_next = false;
    }
    Weight weight = 0;
    for (; i < keys.size() && keys[i] >> 32 == cell; ++i)
      weight += static_cast<std::uint32_t>(keys[i]);
    add(cell >> 16, cell & 65535, weight);
  }
  if (rest_is_next) add_rest();
  space.size = m;
  space.one_row_each = false;
}

// Fills the workspace's entries. `may_merge` allows entries of several rows.
template <class Sample>
void order_samples(std::span<const Sample> samples, const std::uint16_t* codes, CodeRange range,
                   std::size_t n_classes, bool may_merge, Workspace<Sample>& space) {
  const std::size_t n = samples.size();
  if (may_merge && range.size() * n_classes <= n) {
    ordering::by_histogram(samples, codes, range, n_classes, space);
    return;
  }
  if (n <= ordering::kRankSortLimit)
    ordering::by_ranking(samples, codes, range, space);
  else if (range.size() <= 2 * n)
    ordering::by_counting(samples, codes, range, space);
  else
    ordering::by_sorting(samples, codes, range, space);
  space.size = n;
  space.one_row_each = true;
}

// The same, merged, of a column whose codes are often one: the samples that have another code are
// ordered, together with one for each class that stands for all that have it. What the others
// leave of the node's counts has the common code.
inline void order_others(std::span<const WholeSample> samples, const std::uint16_t* codes,
                         CodeRange range, std::uint16_t common, std::span<const double> node_counts,
                         Workspace<WholeSample>& space) {
  const std::size_t n = samples.size(), n_classes = node_counts.size();
  if (space.others.size() < n + n_classes) {
    space.others.resize(n + n_classes);
    space.other_codes.resize(n + n_classes);
  }
  WholeSample* others = space.others.data();
  std::uint16_t* other_codes = space.other_codes.data();
  std::size_t n_others = 0;
  for (std::size_t i = 0; i < n; ++i) {
    others[n_others] = samples[i];
    other_codes[n_others] = codes[i];
    n_others += codes[i] != common;
  }
  std::uint32_t* rest = space.cells(n_classes);
  for (std::size_t k = 0; k < n_classes; ++k) rest[k] = static_cast<std::uint32_t>(node_counts[k]);
  for (std::size_t i = 0; i < n_others; ++i) rest[others[i].label] -= others[i].weight;
  for (std::size_t k = 0; k < n_classes; ++k) {
    const std::uint32_t weight = std::exchange(rest[k], 0);
    others[n_others] = {0, static_cast<std::uint16_t>(k), static_cast<std::uint16_t>(weight)};
    other_codes[n_others] = common;
    n_others += weight > 0;
  }
  order_samples<WholeSample>({others, n_others}, other_codes, range, n_classes, true, space);
  space.one_row_each = false;
}

}  // namespace hardwood
