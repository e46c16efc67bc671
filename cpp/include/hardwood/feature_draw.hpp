// Looks at the features that a node draws (feature_order.hpp), one after the other; a later one
// must be strictly better.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hardwood/feature_cut.hpp"
#include "hardwood/feature_order.hpp"
#include "hardwood/gather.hpp"
#include "hardwood/lane_search.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/rng.hpp"
#include "hardwood/sparse_node.hpp"

namespace hardwood {

// Calls back every few million visits of a sample, so that a long fit can be stopped.
class Meter {
 public:
  explicit Meter(const Poll& poll) : poll_(poll) {}
  void add(std::size_t visits) {
    if ((visits_ += visits) < (std::size_t{1} << 22)) return;
    visits_ = 0;
    if (poll_) poll_();
  }

 private:
  const Poll& poll_;
  std::size_t visits_ = 0;
};

template <class Sample>
class FeatureDraw {
 public:
  FeatureDraw(const Codes& codes, const AnyCriterion& criterion, const SearchOptions& options,
              std::size_t n_classes, int n_threads, const Poll& poll)
      : codes_(codes), options_(options), poll_(poll), meter_(poll), order_(codes.n_columns()) {
    for (int thread = 0; thread < n_threads; ++thread)
      searches_.emplace_back(codes, criterion, options, n_classes);
    if (codes.is_sparse)
      sparse_.emplace(codes, options.max_features);
    else if (kWhole<Sample>)
      lanes_ = std::make_unique<LaneSearch>(codes, options.max_features);
  }

  void start_tree(bool unit_weights) {
    for (auto& search : searches_) search.start_tree(unit_weights);
    order_.reset();
  }

  FeatureOrder& order() { return order_; }

  struct Found {
    Cut cut;
    std::size_t n_constant = 0;  // features known to be constant in the node and all below it
  };

  // Where the codes of a feature are found for the samples of the node that was searched last.
  CodeSource source(std::span<const Sample> samples, std::uint32_t feature) {
    if (sparse_) return sparse_->source(feature);
    return rows_are_nearer(codes_, samples.size(), 1) ? source_in_rows(codes_, feature)
                                                      : source_in_column(codes_, feature);
  }

  Found best(std::span<const Sample> samples, const NodeContext& node, const Places* places,
             std::size_t n_constant, Rng& rng) {
    Cut cut;
    searches_[0].start_node(samples, node, places);
    if (sparse_) sparse_->start(samples);
    order_.start_node(n_constant);
    if constexpr (kWhole<Sample>)
      if (lanes_ && searches_[0].looks_together() && lanes_->start(samples, node)) {
        visit_in_lanes(rng, cut);
        meter_.add(samples.size() * options_.max_features);
        return {std::move(cut), order_.n_constant()};
      }
    while (!cut.perfect) {
      const std::span<const std::uint32_t> batch = order_.draw(options_, rng);
      if (batch.empty()) break;
      if (sparse_)
        visit_sparse(batch, cut);
      else if (searches_.size() > 1 && batch.size() > 1 &&
               batch.size() * samples.size() >= kWorthThreads)
        visit_on_threads(batch, samples, node, places, cut);
      else
        visit_in_turn(batch, samples, cut);
      order_.settle(constant_.data());
    }
    return {std::move(cut), order_.n_constant()};
  }

 private:
  static constexpr std::size_t kBatch = FeatureOrder::kBatch;
  static constexpr std::size_t kFewSamples = 512;     // of a node whose values are fetched before
  static constexpr std::size_t kBatchRoom = 1 << 18;  // codes read at a time
  static constexpr std::size_t kWorthThreads = 1 << 17;  // visits of a sample

  // All features of a small node. They wait until there is no room for more, or where one of them
  // may end the search, until all of a draw have been added.
  void visit_in_lanes(Rng& rng, Cut& cut) {
    FeatureCut<WholeSample>& search = searches_[0];
    while (!cut.perfect) {
      const std::span<const std::uint32_t> batch = order_.draw(options_, rng);
      if (batch.empty()) break;
      if (!lanes_->has_room(batch.size())) lanes_->settle(search, cut);
      lanes_->add(batch, constant_.data(), cut.score, search);
      if (lanes_->may_be_perfect()) {
        const std::size_t before = lanes_->settle(search, cut);
        if (cut.perfect)  // nobody looks at the others
          std::fill_n(constant_.begin(), batch.size() - 1 - before, false);
      }
      order_.settle(constant_.data());
    }
    lanes_->settle(search, cut);
  }

  // Improves on `cut` with every feature of the batch that can, from the back, in the order of the
  // draws, and notes which are constant.
  void visit_in_turn(std::span<const std::uint32_t> batch, std::span<const Sample> samples,
                     Cut& cut) {
    FeatureCut<Sample>& search = searches_[0];
    const std::size_t n = samples.size();
    const std::size_t at_once = std::max<std::size_t>(1, kBatchRoom / n);
    std::fill_n(constant_.begin(), batch.size(), false);
    for (std::size_t last = batch.size(); last > 0 && !cut.perfect;) {
      const std::size_t first = last - std::min(last, at_once);
      const auto to_read = search.has_lists() ? unlisted(batch.subspan(first, last - first))
                                              : batch.subspan(first, last - first);
      if (codes_read_.size() < to_read.size() * n) codes_read_.resize(to_read.size() * n);
      gather(codes_, to_read, samples, codes_read_.data(), n);
      if (search.looks_together()) {
        meter_.add(to_read.size() * n);
        search.look_at(to_read, codes_read_.data(), constant_.data() + first, cut);
        last = first;
        continue;
      }
      if (options_.random_cuts && n <= kFewSamples)
        search.fetch_values(to_read, codes_read_.data(),
                            [&](std::size_t f) { return order_.unit(first + f); });
      const std::uint16_t* codes = codes_read_.data() + to_read.size() * n;
      for (std::size_t f = last; f-- > first && !cut.perfect;) {
        if (search.uses_list(batch[f])) {
          meter_.add(codes_.columns[batch[f]].other_rows.size());
          constant_[f] = !search.look_at_list(batch[f], cut);
        } else {
          meter_.add(n);
          codes -= n;
          constant_[f] = !search.look_at(batch[f], codes, order_.unit(f), cut);
        }
      }
      last = first;
    }
  }

  // The same from the lists of sparse codes.
  void visit_sparse(std::span<const std::uint32_t> batch, Cut& cut) {
    const auto to_look_at = sparse_->find_absent(batch, constant_.data());
    for (std::size_t i = to_look_at.size(); i-- > 0 && !cut.perfect;) {
      const std::uint32_t f = to_look_at[i];
      const std::span<const SampleCode> listed = sparse_->of(batch[f]);
      meter_.add(listed.size());
      constant_[f] =
          listed.empty() || !searches_[0].look_at_sparse(batch[f], listed, order_.unit(f), cut);
      if (cut.perfect) std::fill_n(constant_.begin(), f, false);  // nobody looks at these
    }
    meter_.add(batch.size());
  }

  std::span<const std::uint32_t> unlisted(std::span<const std::uint32_t> features) {
    std::size_t n = 0;
    for (const std::uint32_t feature : features)
      if (!searches_[0].uses_list(feature)) unlisted_[n++] = feature;
    return std::span(unlisted_).first(n);
  }

  // The same on several threads. Every feature's best cut that beats `cut` is found alone; they are
  // then taken in turn.
  void visit_on_threads(std::span<const std::uint32_t> batch, std::span<const Sample> samples,
                        const NodeContext& node, const Places* places, Cut& cut) {
    std::array<Cut, kBatch> cuts;
    cuts.fill(cut);
    std::array<bool, kBatch> constant{};
    std::atomic<std::size_t> next{0};
    parallel_for(searches_.size(), static_cast<int>(searches_.size()), poll_,
                 [&](std::size_t thread, const Poll& own_poll) {
                   auto& search = searches_[thread];
                   search.start_node(samples, node, places);
                   std::vector<std::uint16_t> codes(samples.size());
                   for (std::size_t f; (f = next.fetch_add(1)) < batch.size();) {
                     own_poll();
                     if (search.uses_list(batch[f])) {
                       constant[f] = !search.look_at_list(batch[f], cuts[f]);
                       continue;
                     }
                     gather(codes_, batch.subspan(f, 1), samples, codes.data(), codes.size());
                     constant[f] = !search.look_at(batch[f], codes.data(), order_.unit(f), cuts[f]);
                   }
                 });
    std::fill_n(constant_.begin(), batch.size(), false);
    for (std::size_t f = batch.size(); f-- > 0 && !cut.perfect;) {
      constant_[f] = constant[f];
      if (cuts[f].score > cut.score) cut = cuts[f];
    }
  }

  const Codes& codes_;
  const SearchOptions& options_;
  const Poll& poll_;
  Meter meter_;
  std::vector<FeatureCut<Sample>> searches_;  // one a thread
  std::optional<SparseNode<Sample>> sparse_;
  std::unique_ptr<LaneSearch> lanes_;  // of dense codes
  FeatureOrder order_;
  std::vector<std::uint16_t> codes_read_;  // [feature][sample]
  std::array<std::uint32_t, kBatch> unlisted_{};
  std::array<bool, kBatch> constant_{};
};

}  // namespace hardwood
