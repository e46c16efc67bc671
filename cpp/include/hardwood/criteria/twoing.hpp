// Twoing (Breiman et al. 1984): (|L||R|/|S|²)/4 · (Σ_k |p_k(L) - p_k(R)|)². It scores splits; the
// impurity it rests on is Gini. O(K) a cut, but for two classes it is half of Gini's gain, so there
// the tree is Gini's and grown as fast.
#pragma once

#include <cmath>

#include "hardwood/criteria/gini.hpp"
#include "hardwood/criterion.hpp"

namespace hardwood {

struct Twoing {
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
  double gain(Counts parent, Counts left, Counts right) const {
    return Gini::gain(parent, left, right) / 2;
  }
};

}  // namespace hardwood
