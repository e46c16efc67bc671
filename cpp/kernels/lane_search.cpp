// The search of small nodes (lane_search.hpp). How many lanes a vector has depends on the
// instruction set, so all that asks for it is compiled here, once for each.
#include "hardwood/lane_search.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "hardwood/gather.hpp"
#include "hardwood/lanes.hpp"

namespace hardwood {

namespace {

bool is_pure(const LaneLists& lists, std::uint32_t lane, std::size_t first, std::size_t last) {
  for (std::size_t i = first + 1; i < last; ++i)
    if (LaneKey::label(lists.key(lane, i)) != LaneKey::label(lists.key(lane, first))) return false;
  return true;
}

}  // namespace

template <class Use>
void LaneSearch::for_each_block(const Use& use) {
  for (std::size_t block = 0; block * block_lanes_ < n_lanes_; ++block) {
    std::int32_t* keys = keys_.data() + block * samples_.size() * block_lanes_;
    if (block_lanes_ == kMostLanes)
      use.template operator()<kMostLanes>(block, keys);
    else
      use.template operator()<kFewestLanes>(block, keys);
  }
}

LaneSearch::LaneSearch(const Codes& codes, std::size_t most_features)
    : codes_(codes), block_lanes_(most_features <= kFewestLanes ? kFewestLanes : kMostLanes) {}

bool LaneSearch::start(std::span<const WholeSample> samples, const NodeContext& node) {
  if (samples.size() > LaneKey::kMostRows || !number_classes(node.counts.of_class)) return false;
  std::uint32_t all_weights = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const WholeSample& sample = samples[i];
    all_weights |= sample.weight;
    payload_[i] = LaneKey::payload(class_number_[sample.label], sample.weight);
  }
  if (all_weights > LaneKey::kMostWeight) return false;
  samples_ = samples;
  clear();
  return true;
}

void LaneSearch::add(std::span<const std::uint32_t> features, bool* constant, double score_to_beat,
                     FeatureCut<WholeSample>& search) {
  const std::size_t n_features = features.size();
  std::array<std::uint32_t, kMostLaneFeatures> own_lanes;
  for (std::size_t f = n_features; f-- > 0;) {
    const std::uint32_t lane = free_[--n_free_];
    own_lanes[f] = lane;
    n_lanes_ = std::max<std::size_t>(n_lanes_, lane + 1);
    const RowField& field = codes_.fields[features[f]];
    sources_[f] = {field.offset, static_cast<std::uint32_t>(place_of(lane)), field.mask};
  }
  read(n_features);
  find_ranges();
  for (std::size_t f = n_features; f-- > 0;) {
    const std::uint32_t lane = own_lanes[f], feature = features[f];
    const std::uint32_t last = LaneKey::code(largest_[lane]);
    constant[f] = LaneKey::code(smallest_[lane]) == last;
    if (constant[f]) {
      free_[n_free_++] = lane;
    } else if (codes_.fields[feature].has_missing && last == codes_.columns[feature].n_codes) {
      free_[n_free_++] = lane;
      look_alone(feature, lane, score_to_beat, search);
    } else {
      waiting_[n_waiting_] = {feature, n_added_};
      waiting_lanes_[n_waiting_++] = lane;
    }
    ++n_added_;
  }
}

std::size_t LaneSearch::settle(FeatureCut<WholeSample>& search, Cut& cut) {
  std::size_t number = n_added_;
  sort();
  double score = cut.score;
  const LaneLists lists{keys_.data(), samples_.size(), block_lanes_,
                        std::span(waiting_lanes_).first(n_waiting_),
                        std::span(class_counts_).first(n_classes_)};
  if (const auto found = search.scan().best_of_lanes(lists, score); found.position != kNoCut) {
    const std::uint32_t lane = waiting_lanes_[found.list];
    number = waiting_[found.list].number;
    cut = {score,
           waiting_[found.list].feature,
           LaneKey::code(lists.key(lane, found.position)),
           LaneKey::code(lists.key(lane, found.position + 1)),
           false,
           true};
    cut.perfect = may_be_perfect() && is_pure(lists, lane, 0, found.position + 1) &&
                  is_pure(lists, lane, found.position + 1, samples_.size());
  }
  // Of equals, the one that was looked at first.
  if (alone_.found &&
      (alone_.score > cut.score || (alone_.score == cut.score && alone_number_ < number))) {
    number = alone_number_;
    cut = std::move(alone_);
  }
  clear();
  return number;
}

void LaneSearch::clear() {
  alone_ = {};
  n_lanes_ = n_added_ = n_waiting_ = 0;
  n_free_ = kMostLaneFeatures;
  for (std::uint32_t lane = 0; lane < kMostLaneFeatures; ++lane)
    free_[lane] = kMostLaneFeatures - 1 - lane;
}

bool LaneSearch::number_classes(std::span<const double> counts) {
  n_classes_ = 0;
  if (class_number_.size() < counts.size()) class_number_.resize(counts.size());
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] == 0) continue;
    if (n_classes_ == LaneKey::kMostClasses) return false;
    class_number_[k] = static_cast<std::uint8_t>(n_classes_);
    class_counts_[n_classes_++] = static_cast<std::int32_t>(counts[k]);
  }
  return true;
}

void LaneSearch::read(std::size_t n_features) {
  const std::uint8_t* const rows = codes_.rows.data();
  const std::size_t stride = codes_.row_stride;
  const Source* sources = sources_.data();
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const std::uint8_t* row = rows + samples_[i].row * stride;
    const std::uint32_t payload = payload_[i];
    std::int32_t* to = keys_.data() + i * block_lanes_;
    for (std::size_t f = 0; f < n_features; ++f) {
      std::uint16_t code;
      std::memcpy(&code, row + sources[f].offset, 2);
      to[sources[f].to] = LaneKey::make(code & sources[f].mask, payload);
    }
  }
}

void LaneSearch::look_alone(std::uint32_t feature, std::uint32_t lane, double score_to_beat,
                            FeatureCut<WholeSample>& search) {
  const std::int32_t* keys = keys_.data() + place_of(lane);
  for (std::size_t i = 0; i < samples_.size(); ++i)
    codes_alone_[i] = LaneKey::code(keys[i * block_lanes_]);
  alone_.score = std::max(alone_.score, score_to_beat);
  const double before = alone_.score;
  search.look_at(feature, codes_alone_.data(), 0, alone_);
  if (alone_.score > before) alone_number_ = n_added_;
}

void LaneSearch::find_ranges() {
  for_each_block([&]<std::size_t N>(std::size_t block, std::int32_t* keys) {
    auto smallest = as_lanes<N>(keys), largest = smallest;
    for (std::size_t i = 1; i < samples_.size(); ++i) {
      const auto key = as_lanes<N>(keys + i * N);
      smallest = key < smallest ? key : smallest;
      largest = key > largest ? key : largest;
    }
    as_lanes<N>(&smallest_[block * N]) = smallest;
    as_lanes<N>(&largest_[block * N]) = largest;
  });
}

void LaneSearch::sort() {
  for_each_block([&]<std::size_t N>(std::size_t, std::int32_t* keys) {
    sort_lanes<N>(keys, samples_.size());
  });
}

}  // namespace hardwood
