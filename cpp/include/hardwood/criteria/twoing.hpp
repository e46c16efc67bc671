// Twoing (Breiman et al. 1984): (|L||R|/|S|²)/4 · (Σ_k |p_k(L) - p_k(R)|)². It scores splits; the
// impurity it rests on is Gini. O(K) a cut, but for two classes it is half of Gini's gain, so there
// the tree is Gini's and grown as fast.
#pragma once

#include <cmath>

#include "hardwood/criteria/gini.hpp"
#include "hardwood/criterion.hpp"
#include "hardwood/criterion_record.hpp"

namespace hardwood {

struct Twoing {
  static CriterionRecord record() {
    return {.name = "twoing",
            .class_name = "Twoing",
            .formula = "(|L||R|/|S|²)/4 · (Σ |pₖ(L) − pₖ(R)|)²",
            .doc =
                "Twoing (Breiman et al., 1984). With two classes the tree is Gini's; with more, "
                "the cost of a cut grows with the number of classes.",
            .scores_splits = true,
            .why_no_optimal_leaf = "scores splits and is not the impurity of a loss"};
  }
  template <class Use>
  static auto with(const FitContext& context, const Use& use);

  explicit Twoing(const FitContext&) {}

  double impurity(Counts node) const {
    return node.n > 0 ? pairs_apart(node) / (node.n * node.n) : 0;
  }

  double score(Counts left, Counts right) const {
    double apart = 0;
    for (std::size_t k = 0; k < left.of_class.size(); ++k)
      apart += std::abs(left.of_class[k] * right.n - right.of_class[k] * left.n);
    if (apart <= kRounding * left.n * right.n) return 0;
    return apart * apart / (4 * left.n * right.n * (left.n + right.n));
  }
  double gain(Counts, Counts left, Counts right) const { return score(left, right); }
};

struct TwoingOfTwoClasses : Gini {
  using Gini::Gini;
  using ScannedAs = Gini;  // half of its gain: the same cuts
  double gain(Counts parent, Counts left, Counts right) const {
    return Gini::gain(parent, left, right) / 2;
  }
};

template <class Use>
auto Twoing::with(const FitContext& context, const Use& use) {
  if (context.n_classes <= 2) return use(TwoingOfTwoClasses(context));
  return use(Twoing(context));
}

}  // namespace hardwood
