// The best cut of one feature by a criterion that is asked about many cuts at once.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "hardwood/criterion.hpp"
#include "hardwood/order.hpp"

namespace hardwood {

// risks(counts) are those of many nodes, whose class counts stand one after the other.
template <class C>
concept BatchedCriterion = Criterion<C> && requires(const C& c, std::span<const double> counts) {
  { c.risks(counts) } -> std::same_as<std::vector<double>>;
};

// Both sides' class counts at cuts that wait to be scored.
class CutBatch {
 public:
  static constexpr std::size_t most_cuts = std::size_t{1} << 14;

  void add(std::size_t position, std::span<const double> left, std::span<const double> node) {
    positions_.push_back(position);
    counts_.insert(counts_.end(), left.begin(), left.end());
    // With real weights the difference can be a little off: never below nothing.
    for (std::size_t k = 0; k < left.size(); ++k)
      counts_.push_back(std::max(node[k] - left[k], 0.0));
  }

  bool full() const { return positions_.size() == most_cuts; }

  // Scores the cuts and forgets them. `best` becomes the position of the first best one, if that
  // beats best_score.
  template <BatchedCriterion C>
  void score(const C& criterion, double& best_score, std::size_t& best) {
    if (positions_.empty()) return;
    const std::vector<double> risks = criterion.risks(counts_);
    for (std::size_t j = 0; j < positions_.size(); ++j) {
      const double here = -(risks[2 * j] + risks[2 * j + 1]);
      if (!(here > best_score)) continue;
      best_score = here;
      best = positions_[j];
    }
    positions_.clear();
    counts_.clear();
  }

 private:
  std::vector<std::size_t> positions_;
  std::vector<double> counts_;  // [cut][left, right][class]
};

// What Scanner::best does. There are no monotonic constraints, as there are more than two classes.
template <BatchedCriterion C, class Sample, class Node>
std::size_t best_in_batches(const C& criterion, const Workspace<Sample>& e, const Node& node,
                            std::size_t first_cut, double& best_score) {
  CutBatch batch;
  std::vector<double> left(node.counts.of_class.size(), 0);
  double n = 0;
  std::size_t cut = 0, best = std::numeric_limits<std::size_t>::max();
  for (std::size_t i = 0; i + 1 < e.size; ++i) {
    left[e.label[i]] += static_cast<double>(e.weight[i]);
    n += static_cast<double>(e.weight[i]);
    if (e.code[i] == e.code[i + 1] || cut++ < first_cut) continue;
    // Where rows are counted (min_rows > 1), an entry is one row, or all weights are 1.
    const std::size_t rows = e.one_row_each ? i + 1 : static_cast<std::size_t>(n);
    if (node.min_rows > 1 && (rows < node.min_rows || node.n_rows - rows < node.min_rows)) continue;
    const double n_right = node.counts.n - n;
    if (n < node.min_weight || n_right < node.min_weight || n_right <= 0) continue;
    batch.add(i, left, node.counts.of_class);
    if (batch.full()) batch.score(criterion, best_score, best);
  }
  batch.score(criterion, best_score, best);
  return best;
}

}  // namespace hardwood
