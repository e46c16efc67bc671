// The codes of a node's samples where codes are sparse.
//
// A feature's codes are looked up in the list of its column, which says nothing about rows that are
// not in the node. Where many features were looked up, all codes of the node's rows are put in
// lists by feature instead: then a feature without any of them costs nothing, and in small nodes
// nearly all features are such.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "hardwood/codes.hpp"
#include "hardwood/gather.hpp"

namespace hardwood {

// A sample of the node, by its number there, and its code.
struct SampleCode {
  std::uint32_t sample;
  std::uint16_t code;
};

// One a thread.
template <class Sample>
class SparseNode {
 public:
  // A node looks at no fewer than max_features features, if it has them.
  SparseNode(const Codes& codes, std::size_t max_features)
      : codes_(codes),
        few_entries_(std::min(max_features, codes.n_columns()) * kColumnCost),
        place_(codes.n_rows, kNowhere),
        codes_of_rows_(codes.n_rows + 1) {}

  // The samples must stay as they are until all features are looked at.
  void start(std::span<const Sample> samples) {
    samples_ = samples;
    by_rows_ = false;
    spent_ = 0;
    n_entries_ = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::uint32_t row = samples[i].row;
      n_entries_ += codes_.of_rows.starts[row + 1] - codes_.of_rows.starts[row];
    }
    if (n_entries_ <= few_entries_)
      list_rows();
    else
      find_places();
  }

  // Tells of features that will be looked at which are known to have the common code alone. Returns
  // the places of the others, whose codes it gets closer.
  std::span<const std::uint32_t> find_absent(std::span<const std::uint32_t> features,
                                             bool* absent) {
    if (to_look_at_.size() < features.size()) to_look_at_.resize(features.size());
    std::size_t n = 0;
    for (std::uint32_t f = 0; f < features.size(); ++f) {  // free of branches
      absent[f] = by_rows_ && !is_present(features[f]);
      to_look_at_[n] = f;
      n += !absent[f];
    }
    const std::span<const std::uint32_t> others = std::span(to_look_at_).first(n);
    for (const std::uint32_t f : others) {
      const std::uint32_t feature = features[f];
      prefetch(&codes_.sparse_fields[feature]);
      prefetch(&codes_.columns[feature].low);
      prefetch(&codes_.columns[feature].high);
      if (by_rows_)
        prefetch(&heads_[feature]);
      else
        prefetch(&codes_.of_columns.starts[feature]);
    }
    if (!by_rows_)
      for (const std::uint32_t feature : features)
        prefetch(codes_.of_columns.entries.data() + codes_.of_columns.starts[feature]);
    return others;
  }

  // The samples whose code of the feature is not the common one, in any order. They stay there
  // until the next call.
  std::span<const SampleCode> of(std::uint32_t feature) {
    if (!by_rows_) {
      const std::span<const CodeEntry> column = codes_.of_columns.of(feature);
      spent_ += kColumnCost + column.size();
      if (spent_ <= n_entries_ || n_entries_ >= kNowhere) return found_in(column);
      list_rows();
    }
    if (!is_present(feature)) return {};
    std::size_t n = 0;
    for (std::uint32_t link = heads_[feature]; link != kNowhere; link = links_[link].next)
      listed_[n++] = {links_[link].sample, links_[link].code};
    return std::span(listed_).first(n);
  }

  // Writes the codes of the node's rows down, and returns where.
  CodeSource source(std::uint32_t feature) {
    const std::uint16_t common = codes_.sparse_fields[feature].common;
    for (const Sample& sample : samples_) codes_of_rows_[sample.row] = common;
    for (const SampleCode& other : of(feature))
      codes_of_rows_[samples_[other.sample].row] = other.code;
    return {reinterpret_cast<const std::uint8_t*>(codes_of_rows_.data()), 2, 65535};
  }

 private:
  static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kColumnCost = 32;  // what it takes to get at a column, in entries

  struct Link {
    std::uint32_t next, sample;
    std::uint16_t code;
  };
  static constexpr std::uint32_t kWordBits = 64;

  bool is_present(std::uint32_t feature) const {
    return present_[feature / kWordBits] >> feature % kWordBits & 1;
  }

  void find_places() {
    for (const std::uint32_t row : placed_) place_[row] = kNowhere;
    placed_.clear();
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      place_[samples_[i].row] = static_cast<std::uint32_t>(i);
      placed_.push_back(samples_[i].row);
    }
  }

  std::span<const SampleCode> found_in(std::span<const CodeEntry> column) {
    if (listed_.size() < column.size()) listed_.resize(column.size());
    std::size_t n = 0;
    for (const CodeEntry& entry : column) {
      const std::uint32_t sample = place_[entry.place];
      listed_[n] = {sample, entry.code};
      n += sample != kNowhere;
    }
    return std::span(listed_).first(n);
  }

  void list_rows() {
    if (heads_.empty()) {
      heads_.resize(codes_.n_columns());
      present_.resize(codes_.n_columns() / kWordBits + 1);
    }
    std::ranges::fill(present_, 0);
    by_rows_ = true;
    if (listed_.size() < samples_.size()) listed_.resize(samples_.size());
    if (links_.size() < n_entries_) links_.resize(n_entries_);
    std::uint32_t link = 0;
    for (std::size_t i = 0; i < samples_.size(); ++i)
      for (const CodeEntry& entry : codes_.of_rows.of(samples_[i].row)) {
        std::uint64_t& word = present_[entry.place / kWordBits];
        const std::uint32_t bit = entry.place % kWordBits;
        // Free of branches: nowhere, all ones, unless there is a link before.
        const std::uint32_t first = static_cast<std::uint32_t>(word >> bit & 1) - 1;
        links_[link] = {heads_[entry.place] | first, static_cast<std::uint32_t>(i), entry.code};
        heads_[entry.place] = link++;
        word |= std::uint64_t{1} << bit;
      }
  }

  const Codes& codes_;
  const std::size_t few_entries_;
  std::span<const Sample> samples_;
  std::size_t n_entries_ = 0, spent_ = 0;
  bool by_rows_ = false;
  std::vector<std::uint32_t> place_, placed_;
  std::vector<std::uint32_t> to_look_at_;
  std::vector<SampleCode> listed_;
  // The first link of each feature's list, if the feature is present.
  std::vector<std::uint32_t> heads_;
  std::vector<Link> links_;
  std::vector<std::uint64_t> present_;  // a bit a feature
  std::vector<std::uint16_t> codes_of_rows_;
};

}  // namespace hardwood
