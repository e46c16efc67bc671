// The scan of many features of a small node side by side (lane_keys.hpp).
//
// A step adds a sample to the left side of as many features as a vector has lanes. The class counts
// stand in vectors of their own, one for each class in the node, and the sample's class tells which
// lanes of each of them change: nothing waits for a count that was just written. As in
// rough_scan.hpp, only cuts that come within rounding of the best are scored in double precision.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "hardwood/codes.hpp"
#include "hardwood/criterion.hpp"
#include "hardwood/cut_scan.hpp"
#include "hardwood/lane_keys.hpp"

namespace hardwood {

template <SummedCriterion C>
class LaneScan {  // for criteria that cannot compare roughly
 public:
  explicit LaneScan(const C&) {}
  static CutScan<WholeSample>::Found best(const LaneLists&, const NodeContext&, double&) {
    return {};
  }
};

template <RoughCriterion C>
class LaneScan<C> {
 public:
  using Found = CutScan<WholeSample>::Found;

  explicit LaneScan(const C& criterion) : criterion_(criterion) {}

  Found best(const LaneLists& lists, const NodeContext& node, double& best_score) {
    if (lists.looked_at.empty()) return {};
    allow(node);
    if (first_ >= last_) return {};
    node_sum_ = 0;
    for (const std::int32_t count : lists.class_counts) node_sum_ += count * count;
    const std::uint32_t last = *std::ranges::max_element(lists.looked_at);
    const std::size_t n_blocks = last / lists.block_lanes + 1;
    for (std::size_t b = 0; b < n_blocks; ++b) {
      if (lists.block_lanes == kMostLanes)
        score<kMostLanes>(lists, b);
      else
        score<kFewestLanes>(lists, b);
    }

    const auto to_beat = static_cast<float>(best_score);
    float top = to_beat;
    bool any = false;
    for (const std::uint32_t lane : lists.looked_at) {
      any |= top_[lane] >= just_below(to_beat);
      top = std::max(top, top_[lane]);
    }
    Found found;
    if (!any) return found;
    const float limit = just_below(top);
    for (std::size_t list = 0; list < lists.looked_at.size(); ++list) {
      const std::uint32_t lane = lists.looked_at[list];
      if (!(top_[lane] >= limit)) continue;
      const std::size_t position = best_in_lane(lists, lane, limit, best_score);
      if (position != kNoCut) found = {list, position};
    }
    return found;
  }

 private:
  static constexpr std::size_t kMostRows = LaneKey::kMostRows;
  static constexpr std::size_t kMostClasses = LaneKey::kMostClasses;
  static constexpr std::size_t kAllLanes = kMostLaneFeatures;
  static constexpr std::size_t kRowsAtOnce = 16;

  // Which cuts leave enough on both sides. Every key is a row.
  void allow(const NodeContext& node) {
    n_ = static_cast<std::int32_t>(node.counts.n);
    const std::size_t min_rows = std::max<std::size_t>(node.min_rows, 1);
    first_ = min_rows - 1;
    last_ = node.n_rows - std::min(node.n_rows, min_rows);
    least_ = static_cast<std::int32_t>(std::ceil(std::clamp(node.min_weight, 0.0, node.counts.n)));
    most_ = n_ - least_;
  }

  // What is known of all cuts, [block][row][lane].
  struct Sums {
    template <class T>
    using OfCuts = std::array<T, kAllLanes * kMostRows>;

    alignas(kCacheLine) OfCuts<std::int32_t> n, left, right;
    alignas(kCacheLine)
        std::conditional_t<C::uses_max, OfCuts<std::int32_t>, std::array<std::int32_t, 0>> left_max,
        right_max;
    alignas(kCacheLine) OfCuts<float> score;
  };

  // The scores of all cuts of a block, and the best of each lane. Up to eight classes have their
  // counts in registers.
  template <std::size_t N>
  void score(const LaneLists& lists, std::size_t block) {
    const std::size_t n_classes = lists.class_counts.size();
    if (n_classes <= 2)
      score<N>(lists, block, std::make_index_sequence<2>{});
    else if (n_classes <= 4)
      score<N>(lists, block, std::make_index_sequence<4>{});
    else if (n_classes <= 8)
      score<N>(lists, block, std::make_index_sequence<8>{});
    else
      score<N>(lists, block, std::make_index_sequence<kMostClasses>{});
  }

  template <std::size_t N, std::size_t... kClass>
  void score(const LaneLists& lists, std::size_t block, std::index_sequence<kClass...>) {
    using Ints = Lanes<std::int32_t, N>;
    const std::int32_t* keys = lists.block(block);
    const std::size_t start = block * lists.n_rows * N;
    Sums& sums = *sums_;
    // Copies, which the stores below are known not to change.
    const std::int32_t node_sum = node_sum_, least = least_, most = most_;
    const std::size_t first = first_, last = last_;
    const Ints zero{};
    std::array<std::int32_t, sizeof...(kClass)> counts{};  // those that are not in the node have 0
    std::ranges::copy(lists.class_counts, counts.begin());
    std::array<Ints, sizeof...(kClass)> on_right{(zero + counts[kClass])...};
    const Lanes<float, N> nothing{}, never = nothing - std::numeric_limits<float>::infinity();
    Ints n = zero, left = zero, cross = zero, left_max = zero;
    float* const scores = sums.score.data() + start;
    // To the scores: nothing, or -infinity for no cut.
    alignas(kCacheLine) std::array<float, kRowsAtOnce * N> added;
    std::array<float, N> top;
    top.fill(-std::numeric_limits<float>::infinity());
    for (std::size_t i = 0; i < last;) {  // a few rows at a time, for the nearest cache
      const std::size_t begin = i, end = std::min(last, begin + kRowsAtOnce);
      for (; i < end; ++i) {
        const Ints key = as_lanes<N>(keys + i * N), next = as_lanes<N>(keys + (i + 1) * N);
        const Ints label = LaneKey::label(key), weight = LaneKey::weight(key);
        // Of the sample's class: what is left of it on the right, and what the node has of it.
        Ints rest = zero, all = zero, right_max = zero;
        auto take = [&](std::size_t k, Ints& right_count) {
          const auto is_class = label == static_cast<std::int32_t>(k);
          right_count -= is_class ? weight : zero;
          rest = is_class ? right_count : rest;
          all = is_class ? zero + counts[k] : all;
          if constexpr (C::uses_max) right_max = right_count > right_max ? right_count : right_max;
        };
        (take(kClass, on_right[kClass]), ...);
        const Ints count = all - rest;
        n += weight;
        left += C::rough_step(count - weight, weight);
        cross += weight * all;
        const std::size_t at = start + i * N;
        as_lanes<N>(&sums.n[at]) = n;
        as_lanes<N>(&sums.left[at]) = left;
        as_lanes<N>(&sums.right[at]) = (node_sum - cross) + (left - cross);
        if constexpr (C::uses_max) {
          left_max = count > left_max ? count : left_max;
          as_lanes<N>(&sums.left_max[at]) = left_max;
          as_lanes<N>(&sums.right_max[at]) = right_max;
        }
        const auto is_cut = ((key ^ next) >> 16 != 0) & (n >= least) & (n <= most);
        as_lanes<N>(&added[(i - begin) * N]) = i < first ? never : is_cut ? nothing : never;
      }
      score<N>(sums, added.data(), start + begin * N, start + end * N, scores + begin * N, top);
    }
    std::ranges::copy(top, top_.data() + block * N);
  }

  // The scores of some rows' cuts. Nothing that it reads is written by it, which compilers must
  // know to take all lanes at once.
  template <std::size_t N>
  void score(const Sums& sums, const float* __restrict added, std::size_t begin, std::size_t end,
             float* __restrict scores, std::array<float, N>& top) const {
    const std::int32_t n_node = n_;
    const std::int32_t* __restrict n = sums.n.data() + begin;
    const std::int32_t* __restrict left_sum = sums.left.data() + begin;
    const std::int32_t* __restrict right_sum = sums.right.data() + begin;
    const std::int32_t* __restrict left_max = sums.left_max.data() + (C::uses_max ? begin : 0);
    const std::int32_t* __restrict right_max = sums.right_max.data() + (C::uses_max ? begin : 0);
    for (std::size_t j = 0; j < end - begin; j += N) {
      for (std::size_t l = 0; l < N; ++l) {
        RoughSide left{n[j + l], left_sum[j + l], 0};
        RoughSide right{n_node - left.n, right_sum[j + l], 0};
        if constexpr (C::uses_max) {
          left.max = left_max[j + l];
          right.max = right_max[j + l];
        }
        scores[j + l] = criterion_.rough_score(left, right) + added[j + l];
      }
      for (std::size_t l = 0; l < N; ++l) top[l] = scores[j + l] > top[l] ? scores[j + l] : top[l];
    }
  }

  // The first of a lane's best cuts, if it beats best_score.
  std::size_t best_in_lane(const LaneLists& lists, std::uint32_t lane, float limit,
                           double& best_score) const {
    const Sums& sums = *sums_;
    const std::size_t n_lanes = lists.block_lanes;
    const std::size_t start = lane / n_lanes * lists.n_rows * n_lanes + lane % n_lanes;
    std::size_t best = kNoCut;
    for (std::size_t i = first_; i < last_; ++i) {
      const std::size_t at = start + i * n_lanes;
      if (!(sums.score[at] >= limit)) continue;
      RoughSide left{sums.n[at], sums.left[at], 0}, right{n_ - left.n, sums.right[at], 0};
      if constexpr (C::uses_max) {
        left.max = sums.left_max[at];
        right.max = sums.right_max[at];
      }
      const double score = criterion_.score(exactly(left), exactly(right));
      if (!(score > best_score)) continue;
      best_score = score;
      best = i;
    }
    return best;
  }

  static Summary<typename C::Sum> exactly(RoughSide side) {
    return {static_cast<double>(side.n), side.sum, static_cast<double>(side.max)};
  }

  const C& criterion_;
  std::int32_t n_ = 0, node_sum_ = 0;
  std::int32_t least_ = 0, most_ = 0;  // weight on the left
  std::size_t first_ = 0, last_ = 0;   // rows on the left less one
  std::array<float, kAllLanes> top_{};
  std::unique_ptr<Sums> sums_{new Sums};
};

}  // namespace hardwood
