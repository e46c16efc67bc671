// The best cut among the ordered entries of a feature, by any criterion.
//
// A scan walks the entries of a node and scores the cuts between them. CountScan keeps the class
// counts of both sides at each cut and asks the criterion about many cuts at once: it serves real
// weights, monotonic constraints, and criteria that are not sums over classes. SumScan
// (sum_scan.hpp) is faster, for whole counts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "hardwood/any_criterion.hpp"
#include "hardwood/cut.hpp"
#include "hardwood/lane_keys.hpp"
#include "hardwood/order.hpp"

namespace hardwood {

inline constexpr std::size_t kNoCut = std::numeric_limits<std::size_t>::max();

// Whether the entries before a position, and those from it on, are of one class each.
template <class Weight>
bool are_pure(std::span<const Entry<Weight>> entries, std::size_t position) {
  auto one_class = [](auto some) {
    return std::ranges::all_of(some, [&](const auto& e) { return e.label == some[0].label; });
  };
  return one_class(entries.first(position)) && one_class(entries.subspan(position));
}

// The entry before a cut. Looked up only when a cut is taken, which is seldom.
template <class Weight>
std::size_t entry_before(const Entry<Weight>* entry, std::size_t cut) {
  std::size_t i = 0;
  for (++cut; cut -= entry[i].code != entry[i + 1].code; ++i) continue;
  return i;
}

// One a thread, for all nodes.
template <class Sample>
class CutScan {
 public:
  virtual ~CutScan() = default;

  // What all features of a node share. The node must outlive its scans.
  virtual void start(const NodeContext& node) = 0;

  // Looks at every allowed cut of the entries, from number `first_cut` on. Returns the best one's
  // position (the index of its last left entry) if it beats best_score, which it then sets, or
  // kNoCut.
  virtual std::size_t best(const Workspace<Sample>& entries, int direction, std::size_t first_cut,
                           double& best_score) = 0;

  // The same for several features at once, where the scan can do so in this node. No list is of one
  // code. Of equal cuts, the first one of the first list is the best.
  struct List {
    const Entry<typename Sample::Weight>* entry;
    std::size_t size;
    bool one_row_each;
  };
  struct Found {
    std::size_t list = kNoCut, position = kNoCut;
  };
  static constexpr std::size_t kListRoom = 1 << 13;  // entries of all lists at the most
  virtual bool takes_several() const { return false; }
  virtual Found best_of_several(std::span<const List>, double&) { return {}; }
  // The same in a small node, from sorted keys. A position is that of a key.
  virtual Found best_of_lanes(const LaneLists&, double&) { return {}; }

  // Whether the scan can tell from the class counts of bins of codes where the best cut may be, and
  // it pays in this node, where any cut is allowed then. bound_bins writes down the least risk that
  // a cut inside or beside each bin can have, and returns that of the best cut between two bins, or
  // `least` if that is smaller.
  static constexpr std::size_t kMostBins = 256;
  virtual bool takes_bins() const { return false; }
  virtual double bound_bins(const typename Sample::Weight*, std::size_t, double, double*) {
    return 0;
  }
  virtual double risk_of(double) const { return 0; }  // of a cut with this score

  // Whether entries that stand for several rows score the same, to the last bit, as one entry for
  // each of these rows.
  virtual bool merges_exactly() const = 0;

  // The score of the cut with these class counts on the left, comparable with those above, or
  // -infinity if it is not allowed.
  virtual double score(const typename Sample::Weight* left, std::size_t rows_left,
                       int direction) = 0;
};

// The class counts of both sides at cuts that wait to be scored.
class CutBatch {
 public:
  CutBatch(std::size_t n_classes, std::size_t max_size)
      : n_classes_(n_classes), max_size_(max_size) {}

  std::size_t size() const { return size_; }
  bool full() const { return size_ == max_size_; }
  std::size_t position(std::size_t cut) const { return positions_[cut]; }
  Counts left(std::size_t cut) const { return side(2 * cut); }
  Counts right(std::size_t cut) const { return side(2 * cut + 1); }
  // [cut][left, right][class]
  std::span<const double> counts() const { return {counts_.data(), 2 * size_ * n_classes_}; }

  void add(std::size_t position, Counts left, Counts node) {
    if (size_ == positions_.size()) make_room();
    const double* __restrict of_left = left.of_class.data();
    const double* __restrict of_node = node.of_class.data();
    double* __restrict to = counts_.data() + 2 * size_ * n_classes_;
    for (std::size_t k = 0; k < n_classes_; ++k) {
      to[k] = of_left[k];
      // With real weights the difference can be a little off: never below nothing.
      to[n_classes_ + k] = std::max(of_node[k] - of_left[k], 0.0);
    }
    n_[2 * size_] = left.n;
    n_[2 * size_ + 1] = node.n - left.n;
    positions_[size_++] = position;
  }
  void remove_last() { --size_; }
  void clear() { size_ = 0; }

 private:
  Counts side(std::size_t i) const {
    return {{counts_.data() + i * n_classes_, n_classes_}, n_[i]};
  }

  void make_room() {
    const std::size_t n = std::min(max_size_, std::max<std::size_t>(64, 2 * size_));
    positions_.resize(n);
    n_.resize(2 * n);
    counts_.resize(2 * n * n_classes_);
  }

  std::size_t n_classes_, max_size_, size_ = 0;
  std::vector<std::size_t> positions_;
  std::vector<double> counts_, n_;
};

template <class Sample>
class CountScan : public CutScan<Sample> {
 public:
  CountScan(const AnyCriterion& criterion, std::size_t n_classes)
      : criterion_(criterion),
        batch_(n_classes, criterion.cuts_at_once()),
        left_(n_classes),
        right_(n_classes) {}

  void start(const NodeContext& node) override { node_ = &node; }

  std::size_t best(const Workspace<Sample>& e, int direction, std::size_t first_cut,
                   double& best_score) override {
    const NodeContext& node = *node_;
    std::fill(left_.begin(), left_.end(), 0);
    double n = 0;
    std::size_t cut = 0, best = kNoCut;
    for (std::size_t i = 0; i + 1 < e.size; ++i) {
      left_[e.entry[i].label] += static_cast<double>(e.entry[i].weight);
      n += static_cast<double>(e.entry[i].weight);
      if (e.entry[i].code == e.entry[i + 1].code || cut++ < first_cut) continue;
      // Where rows are counted (min_rows > 1), an entry is one row, or all weights are 1.
      std::size_t rows = node.min_rows;
      if (node.min_rows > 1) rows = e.one_row_each ? i + 1 : static_cast<std::size_t>(n);
      if (!node.allows(n, rows)) continue;
      batch_.add(i, {left_, n}, node.counts);
      const std::size_t last = batch_.size() - 1;
      if (node.constrained &&
          !respects(batch_.left(last), batch_.right(last), direction, node.bounds))
        batch_.remove_last();
      else if (batch_.full())
        settle(best_score, best);
    }
    settle(best_score, best);
    return best;
  }

  bool merges_exactly() const override { return kWhole<Sample>; }

  double score(const typename Sample::Weight* left_counts, std::size_t rows_left,
               int direction) override {
    constexpr double not_allowed = -std::numeric_limits<double>::infinity();
    const NodeContext& node = *node_;
    double n = 0;
    for (std::size_t k = 0; k < left_.size(); ++k) {
      left_[k] = static_cast<double>(left_counts[k]);
      right_[k] = std::max(node.counts.of_class[k] - left_[k], 0.0);
      n += left_[k];
    }
    if (!node.allows(n, rows_left)) return not_allowed;
    const Counts left{left_, n}, right{right_, node.counts.n - n};
    if (node.constrained && !respects(left, right, direction, node.bounds)) return not_allowed;
    return criterion_.score(left, right);
  }

 private:
  // Scores the cuts that wait. `best` becomes the position of the first best one, if that beats
  // best_score.
  void settle(double& best_score, std::size_t& best) {
    if (batch_.size() == 0) return;
    scores_.resize(batch_.size());
    criterion_.score(batch_, scores_);
    for (std::size_t j = 0; j < scores_.size(); ++j) {
      if (!(scores_[j] > best_score)) continue;
      best_score = scores_[j];
      best = batch_.position(j);
    }
    batch_.clear();
  }

  const AnyCriterion& criterion_;
  const NodeContext* node_ = nullptr;
  CutBatch batch_;
  std::vector<double> left_, right_, scores_;
};

}  // namespace hardwood
