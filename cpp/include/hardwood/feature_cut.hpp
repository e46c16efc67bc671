// The best cut of one feature in one node.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "hardwood/category_cut.hpp"
#include "hardwood/coarse_order.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/cut.hpp"
#include "hardwood/cut_scan.hpp"
#include "hardwood/gather.hpp"
#include "hardwood/given_cut.hpp"
#include "hardwood/grow_options.hpp"
#include "hardwood/order.hpp"
#include "hardwood/rng.hpp"
#include "hardwood/sparse_node.hpp"
#include "hardwood/threshold.hpp"

namespace hardwood {

// The fastest scan of the criterion for such samples.
template <class Sample>
std::unique_ptr<CutScan<Sample>> make_scan(const AnyCriterion& criterion, std::size_t n_classes) {
  if constexpr (kWhole<Sample>)
    if (auto scan = criterion.sum_scan(n_classes)) return scan;
  return std::make_unique<CountScan<Sample>>(criterion, n_classes);
}

// One a thread: it has room for what a search writes down.
template <class Sample>
class FeatureCut {
 public:
  FeatureCut(const Codes& codes, const AnyCriterion& criterion, const SearchOptions& options,
             std::size_t n_classes)
      : codes_(codes),
        options_(options),
        n_classes_(n_classes),
        space_(most_codes(codes)),
        scan_(make_scan<Sample>(criterion, n_classes)),
        given_(codes, options, n_classes, *scan_),
        has_categories_(std::ranges::any_of(codes.columns, &Column::is_category)),
        sets_(n_classes, options.category_smoothing) {}

  void start_tree(bool unit_weights) {
    unit_weights_ = unit_weights;
    given_.start_tree(unit_weights);
  }

  // What all features of a node share. `places` may be null: then no list of rows is used.
  void start_node(std::span<const Sample> samples, const NodeContext& node, const Places* places) {
    samples_ = samples;
    node_ = &node;
    places_ = places;
    space_.make_room(std::max(samples.size(), kListRoom));
    if (has_categories_) sets_.make_room(samples.size());
    scan_->start(node);
    given_.start_node(samples, node);
    if constexpr (kWhole<Sample>) coarse_.start_node();
  }

  bool has_lists() const { return places_; }

  // Whether the column's list of rows is the shorter way to its counts.
  bool uses_list(std::uint32_t feature) const {
    if constexpr (!kWhole<Sample>) return false;
    const Column& column = codes_.columns[feature];
    const std::size_t n = samples_.size();
    return places_ && column.mostly_one && may_merge() && !options_.random_cuts &&
           kListCost * column.other_rows.size() <= n && (column.n_codes + 1) * n_classes_ <= n;
  }

  // Improves on `cut` if the feature can; false if the feature is constant in the node. The codes
  // are those of the samples, in their order; `unit` is a random number for random cuts.
  bool look_at(std::uint32_t feature, const std::uint16_t* codes, double unit, Cut& cut) {
    const CodeRange range = range_of({codes, samples_.size()});
    if (range.first == range.last) return false;
    if (codes_.fields[feature].is_category) {
      look_at_categories(feature, codes, range, unit, cut);
      return true;
    }
    const bool missing =
        codes_.fields[feature].has_missing && range.last == codes_.columns[feature].n_codes;
    if (options_.random_cuts) {
      given_.take_random_threshold(feature, codes, range, missing, unit, cut);
    } else if (range.size() == 2) {
      given_.take({0, feature, range.first, range.last, false, true}, codes, cut);
    } else {
      const CoarseResult result =
          missing ? CoarseResult::unfit : order_coarsely(feature, codes, range, cut.score);
      if (result == CoarseResult::nothing) return true;
      if (result == CoarseResult::unfit)
        order_samples(samples_, codes, range, n_classes_, may_merge(), space_);
      cut_best(feature, missing, cut);
    }
    return true;
  }

  // Random cuts of columns with many values look for thresholds in memory that may be far away:
  // fetches it for all features of a small node together. unit(f) is the random number of feature
  // f.
  template <class Unit>
  void fetch_values(std::span<const std::uint32_t> features, const std::uint16_t* codes,
                    const Unit& unit) {
    const std::size_t n = samples_.size();
    ranges_.clear();
    for (std::size_t f = 0; f < features.size(); ++f) {
      const Column& column = codes_.columns[features[f]];
      CodeRange range{0, 0};
      if (!column.codes_below.empty()) {
        range = range_of({codes + f * n, n});
        range.last = std::min(range.last, column.n_codes - 1);
        range.first = std::min(range.first, range.last);
        prefetch(lowest_values(column) + range.first);
        prefetch(&column.high[range.last]);
      }
      ranges_.push_back(range);
    }
    for (std::size_t f = 0; f < features.size(); ++f) {
      if (ranges_[f].first == ranges_[f].last) continue;
      const Column& column = codes_.columns[features[f]];
      const CodesNear near = codes_near(column, random_threshold(column, ranges_[f], unit(f)));
      prefetch(column.high.data() + (near.begin + near.end) / 2);
    }
  }

  // Whether several features of the node can be looked at together.
  bool looks_together() const {
    return !places_ && !options_.random_cuts && !has_categories_ && scan_->takes_several();
  }

  CutScan<Sample>& scan() { return *scan_; }

  // The same for several features, the last one first: notes which are constant, up to one that
  // cannot be improved on. The codes are [feature][sample].
  void look_at(std::span<const std::uint32_t> features, const std::uint16_t* codes, bool* constant,
               Cut& cut) {
    const std::size_t n = samples_.size();
    // Only if there are two classes, a cut may be perfect and end the search: then start with few.
    std::size_t most_lists = n_classes_in_node() > 2 ? features.size() : 2;
    Best in_lists{cut, 0}, alone{cut, 0};
    for (std::size_t f = features.size(); f-- > 0;) {
      const std::uint32_t feature = features[f];
      const std::uint16_t* own = codes + f * n;
      const CodeRange range = range_of({own, n});
      constant[f] = range.first == range.last;
      if (constant[f]) continue;
      const bool missing =
          codes_.fields[feature].has_missing && range.last == codes_.columns[feature].n_codes;
      if (missing || range.size() == 2) {
        if (missing) settle(features, in_lists);  // as this needs the room of the lists
        const double before = alone.cut.score;
        if (range.size() == 2) {
          given_.take({0, feature, range.first, range.last, false, true}, own, alone.cut);
        } else {
          order_samples(samples_, own, range, n_classes_, may_merge(), space_);
          cut_best(feature, missing, alone.cut);
        }
        if (alone.cut.score > before) alone.feature = f;
        if (alone.cut.perfect) break;
        continue;
      }
      const CoarseResult result =
          order_coarsely(feature, own, range, std::max(in_lists.cut.score, alone.cut.score));
      if (result == CoarseResult::nothing) continue;
      if (result == CoarseResult::unfit) order(feature, own, range);
      lists_.push_back({space_.entry.data() + space_.first, space_.size, space_.one_row_each});
      list_features_.push_back(f);
      space_.first += space_.size;
      if (lists_.size() < most_lists && space_.first + n <= kListRoom) continue;
      settle(features, in_lists);
      if (in_lists.cut.perfect) break;
      most_lists *= 2;
    }
    settle(features, in_lists);
    // Of equals, the one that was looked at first.
    const double difference = in_lists.cut.score - alone.cut.score;
    const bool takes_list = difference > 0 || (difference == 0 && in_lists.feature > alone.feature);
    Best& best = takes_list ? in_lists : alone;
    if (!(best.cut.score > cut.score)) return;
    cut = std::move(best.cut);
    if (cut.perfect) std::fill_n(constant, best.feature, false);
  }

  // The same from the column's list of rows.
  bool look_at_list(std::uint32_t feature, Cut& cut) {
    if constexpr (kWhole<Sample>) {
      const Column& column = codes_.columns[feature];
      order_listed(samples_, *places_, column, source_in_column(codes_, feature),
                   node_->counts.of_class, space_);
      const std::uint16_t first = space_.entry[0].code, last = space_.entry[space_.size - 1].code;
      if (first == last) return false;
      if (last == first + 1 && !column.is_category)
        given_.take_first_code(feature, space_.entries(), cut);
      else if (column.is_category)
        sets_.look_at(feature, space_, *node_, true, *scan_, cut);
      else
        cut_best(feature, last == column.n_codes, cut);
    }
    return true;
  }

  // The same, bit for bit, from entries that stand for all samples of the node, as order_samples
  // makes them; of whole weights.
  bool look_at_entries(std::uint32_t feature,
                       std::span<const Entry<typename Sample::Weight>> entries, bool one_row_each,
                       double unit, Cut& cut) {
    const CodeRange range{entries.front().code, entries.back().code};
    if (range.first == range.last) return false;
    space_.make_room(entries.size());
    std::ranges::copy(entries, space_.entry.begin());
    space_.size = entries.size();
    space_.one_row_each = one_row_each;
    const typename GivenCut<Sample>::Entries listed{entries, one_row_each};
    const Column& column = codes_.columns[feature];
    const bool missing = column.has_missing && range.last == column.n_codes;
    if (column.is_category) {
      sets_.make_room(entries.size());
      look_at_categories(feature, listed, range, unit, cut);
    } else if (options_.random_cuts) {
      given_.take_random_threshold(feature, listed, range, missing, unit, cut);
    } else if (range.size() == 2) {
      given_.take({0, feature, range.first, range.last, false, true}, listed, cut);
    } else {
      cut_best(feature, missing, cut);
    }
    return true;
  }

  // The same, bit for bit, from the samples whose code is not the common one, where codes are
  // sparse. What they leave of the node's counts has the common code.
  bool look_at_sparse(std::uint32_t feature, std::span<const SampleCode> listed, double unit,
                      Cut& cut) {
    const SparseField column = codes_.sparse_fields[feature];
    const bool has_common = listed.size() < samples_.size();
    std::uint32_t first = 65535, last = 0;
    for (const SampleCode& other : listed) {
      first = std::min<std::uint32_t>(first, other.code);
      last = std::max<std::uint32_t>(last, other.code);
    }
    const bool one_other = has_common && first == last;
    if (has_common) {
      first = std::min<std::uint32_t>(first, column.common);
      last = std::max<std::uint32_t>(last, column.common);
    }
    const CodeRange range{first, last};
    if (first == last) return false;
    if constexpr (kWhole<Sample>) {
      const bool missing = column.has_missing && last == column.n_codes;
      if (options_.random_cuts && one_other && !missing) {
        // Any threshold makes the same split, so it need not be known before the split is taken.
        if (given_.take({0, feature, first, last, false, true}, listed, cut))
          place_at_random(codes_.columns[feature], range, unit, cut);
        return true;
      }
      if (options_.random_cuts) {
        given_.take_random_threshold(feature, listed, range, missing, unit, cut);
        return true;
      }
      if (range.size() == 2) {
        given_.take({0, feature, first, last, false, true}, listed, cut);
        return true;
      }
      const bool as_histogram = range.size() * n_classes_ <= samples_.size();
      if (may_merge() && (as_histogram || scan_->merges_exactly())) {
        order_sparse(samples_, listed, column.common, node_->counts.of_class, space_);
        cut_best(feature, missing, cut);
        return true;
      }
    }
    // The order of sums matters to the last bit: as if the codes were not sparse.
    codes_written_.assign(samples_.size(), column.common);
    for (const SampleCode& other : listed) codes_written_[other.sample] = other.code;
    return look_at(feature, codes_written_.data(), unit, cut);
  }

 private:
  using Weight = typename Sample::Weight;
  static constexpr std::size_t kFewSamples = 32;
  static constexpr std::size_t kListRoom = CutScan<Sample>::kListRoom;
  static constexpr std::size_t kListCost = 2;  // a row of a list, in samples of the node

  // Whether an entry may stand for several rows: rows are then not counted, or as weights.
  bool may_merge() const { return unit_weights_ || node_->min_rows <= 1; }

  // The entries of a feature without missing values in the node, as far as they matter. A common
  // code would leave a bin open, unless it is the first one.
  CoarseResult order_coarsely(std::uint32_t feature, const std::uint16_t* codes, CodeRange range,
                              double best_score) {
    if constexpr (kWhole<Sample>)
      if (const RowField& field = codes_.fields[feature];
          scan_->takes_bins() && (!field.often_one || field.common == range.first))
        return coarse_.order(samples_, codes, range, n_classes_, best_score, *scan_, space_);
    return CoarseResult::unfit;
  }

  // The entries of a feature in a node that looks at several together, so its weight is small.
  void order(std::uint32_t feature, const std::uint16_t* codes, CodeRange range) {
    if constexpr (kWhole<Sample>) {
      const RowField& field = codes_.fields[feature];
      if (field.often_one && samples_.size() >= kFewSamples && may_merge()) {
        order_others(samples_, codes, range, field.common, node_->counts.of_class, space_);
        return;
      }
    }
    order_samples(samples_, codes, range, n_classes_, may_merge(), space_);
  }

  // The best cut of some features, and the place of its feature among them.
  struct Best {
    Cut cut;
    std::size_t feature;
  };

  std::size_t n_classes_in_node() const {
    const auto counts = node_->counts.of_class;
    return counts.size() - static_cast<std::size_t>(std::ranges::count(counts, 0.0));
  }

  // Improves on `best` with the lists that wait, if one can.
  void settle(std::span<const std::uint32_t> features, Best& best) {
    if (lists_.empty()) return;
    const auto [number, position] = scan_->best_of_several(lists_, best.cut.score);
    if (number != kNoCut) {
      const auto& list = lists_[number];
      best.feature = list_features_[number];
      best.cut = {best.cut.score,
                  features[best.feature],
                  list.entry[position].code,
                  list.entry[position + 1].code,
                  false,
                  true};
      best.cut.perfect = are_pure(std::span(list.entry, list.size), position + 1);
    }
    lists_.clear();
    list_features_.clear();
    space_.first = 0;
  }

  // The best cut of the entries.
  void cut_best(std::uint32_t feature, bool missing, Cut& cut) {
    take(feature, false, scan_->best(space_, options_.direction(feature), 0, cut.score), cut);
    if (!missing) return;
    // Once more with the missing values on the left. They alone against all others is the same
    // split as the last one above.
    rotate_missing_to_front(codes_.columns[feature].n_codes);
    take(feature, true, scan_->best(space_, options_.direction(feature), 1, cut.score), cut);
  }

  // The cut after an entry, whose score the scan has put in `cut`.
  void take(std::uint32_t feature, bool missing_left, std::size_t position, Cut& cut) {
    if (position == kNoCut) return;
    cut = {cut.score,    feature, space_.entry[position].code, space_.entry[position + 1].code,
           missing_left, true};
    cut.perfect = are_pure<Weight>(space_.entries(), position + 1);
  }

  // `codes` are those of the samples, or entries, which the workspace then has, too.
  template <class Listed>
  void look_at_categories(std::uint32_t feature, const Listed& codes, CodeRange range, double unit,
                          Cut& cut) {
    if (range.size() == 2) {
      if (!given_.take({0, feature, range.first, range.last, false, true}, codes, cut)) return;
      cut.set_codes = {static_cast<std::uint16_t>(range.first),
                       static_cast<std::uint16_t>(range.last)};
      cut.n_left_codes = 1;
    } else if (options_.random_cuts) {
      given_.take_random_set(feature, codes, unit, cut);
    } else {
      if constexpr (std::is_same_v<Listed, const std::uint16_t*>)
        order_samples(samples_, codes, range, n_classes_, may_merge(), space_);
      sets_.look_at(feature, space_, *node_, may_merge(), *scan_, cut);
    }
  }

  void rotate_missing_to_front(std::uint32_t missing_code) {
    const std::span entries = space_.entries();
    std::ranges::rotate(entries, std::ranges::find(entries, missing_code, &Entry<Weight>::code));
  }

  const Codes& codes_;
  const SearchOptions& options_;
  const std::size_t n_classes_;
  bool unit_weights_ = true;
  std::span<const Sample> samples_;
  const NodeContext* node_ = nullptr;
  const Places* places_ = nullptr;
  Workspace<Sample> space_;
  std::unique_ptr<CutScan<Sample>> scan_;
  GivenCut<Sample> given_;
  CoarseOrder coarse_;
  // Features that wait to be scanned together, and their places among those looked at.
  std::vector<typename CutScan<Sample>::List> lists_;
  std::vector<std::size_t> list_features_;
  std::vector<CodeRange> ranges_;  // of features whose values are fetched
  std::vector<std::uint16_t> codes_written_;
  const bool has_categories_;
  CategoryCut<Sample> sets_;
};

}  // namespace hardwood
