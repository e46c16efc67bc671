// The search for a small node's best cut, with all its candidate features side by side.
//
// Most nodes of a forest have a few rows, above all where labels are wrong. There, the work for
// each feature takes longer than the work for each of its samples. So the features that a node
// draws wait in lanes (lane_keys.hpp) until there are enough of them, and are then sorted and
// scanned at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardwood/codes.hpp"
#include "hardwood/cut.hpp"
#include "hardwood/feature_cut.hpp"
#include "hardwood/lane_keys.hpp"
#include "hardwood/sample.hpp"

namespace hardwood {

class LaneSearch {
 public:
  LaneSearch(const Codes& codes, std::size_t most_features);

  // False if the node's samples do not fit in keys.
  bool start(std::span<const WholeSample> samples, const NodeContext& node);

  // A cut may be perfect, so that no later feature matters, only where there are two classes.
  bool may_be_perfect() const { return n_classes_ == 2; }

  bool has_room(std::size_t n_features) const { return n_free_ >= n_features; }

  // Takes features in, the last one first, and notes which are constant.
  void add(std::span<const std::uint32_t> features, bool* constant, double score_to_beat,
           FeatureCut<WholeSample>& search);

  // Improves on `cut` with the features that wait. Returns how many features were added before the
  // one that did so; all of them if none did.
  std::size_t settle(FeatureCut<WholeSample>& search, Cut& cut);

 private:
  // Where the codes of a feature are read in a row, and where its keys go.
  struct Source {
    std::uint32_t offset, to;
    std::uint16_t mask;
  };

  struct Waiting {
    std::uint32_t feature;
    std::size_t number;  // of features added before it
  };

  void clear();

  bool number_classes(std::span<const double> counts);

  void read(std::size_t n_features);

  // Of a feature with missing values, which takes two scans.
  void look_alone(std::uint32_t feature, std::uint32_t lane, double score_to_beat,
                  FeatureCut<WholeSample>& search);

  // Where the keys of a lane begin.
  std::size_t place_of(std::uint32_t lane) const {
    return lane / block_lanes_ * samples_.size() * block_lanes_ + lane % block_lanes_;
  }

  void find_ranges();

  void sort();

  // Calls use<lanes>(number, keys) for the blocks that have features.
  template <class Use>
  void for_each_block(const Use& use);

  const Codes& codes_;
  const std::size_t block_lanes_;
  std::span<const WholeSample> samples_;
  // Of the classes in the node.
  std::size_t n_classes_ = 0;
  std::vector<std::uint8_t> class_number_;  // by class
  std::array<std::int32_t, LaneKey::kMostClasses> class_counts_{};
  std::array<std::uint32_t, LaneKey::kMostRows> payload_{};  // of the samples' keys
  // The features that wait, in the order in which they were added, and their lanes.
  std::size_t n_added_ = 0, n_waiting_ = 0, n_lanes_ = 0, n_free_ = 0;
  std::array<Waiting, kMostLaneFeatures> waiting_{};
  std::array<std::uint32_t, kMostLaneFeatures> waiting_lanes_{}, free_{};
  // The best cut of those that cannot wait, and the number of its feature.
  Cut alone_;
  std::size_t alone_number_ = 0;
  std::array<std::uint16_t, LaneKey::kMostRows> codes_alone_{};
  std::array<Source, kMostLaneFeatures> sources_{};
  alignas(kCacheLine) std::array<std::int32_t, kMostLaneFeatures> smallest_{}, largest_{};
  alignas(kCacheLine) std::array<
      std::int32_t, kMostLaneFeatures * LaneKey::kMostRows> keys_{};  // [block][row][lane]
};

}  // namespace hardwood
