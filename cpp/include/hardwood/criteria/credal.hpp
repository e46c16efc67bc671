// Credal: the imprecise information gain of Mantas & Abellán 2014,
// H*(S) - [(|a| + s) H*(a) + |b| H*(b)] / (|S| + s), a the child with the larger H*.
// H* is the largest entropy of the imprecise Dirichlet model: the entropy after adding mass s to
// the smallest counts, which fills them up like water. It scores splits; O(K) a cut.
#pragma once

#include <algorithm>

#include "hardwood/criterion.hpp"
#include "hardwood/math.hpp"

namespace hardwood {

struct Credal {
  double mass;

  Credal(const FitContext& context, double s) : mass(s / context.weight_unit) {}

  // The level to which the mass raises the smallest counts: those below it share it equally. Taking
  // out the counts above the level lowers it, until none is above.
  double water_level(Counts node) const {
    double level = (node.n + mass) / static_cast<double>(node.of_class.size());
    for (;;) {
      double below = 0;
      std::size_t n_below = 0;
      for (const double count : node.of_class)
        if (count < level) {
          below += count;
          ++n_below;
        }
      const double lower = (below + mass) / static_cast<double>(n_below);
      if (!(lower < level)) return level;
      level = lower;
    }
  }

  double impurity(Counts node) const {
    const double level = water_level(node);
    const double total = node.n + mass;
    double sum = 0;
    for (const double count : node.of_class) {
      const double filled = std::max(count, level);
      if (filled < total) sum += filled * math::log(total / filled);
    }
    return sum / total;
  }

  // (|a| + s) H*(a) + |b| H*(b)
  double weighted_entropy(Counts left, Counts right) const {
    const double of_left = impurity(left), of_right = impurity(right);
    return left.n * of_left + right.n * of_right + mass * std::max(of_left, of_right);
  }
  double score(Counts left, Counts right) const { return -weighted_entropy(left, right); }
  double gain(Counts parent, Counts left, Counts right) const {
    const double before = impurity(parent);
    const double gain = before - weighted_entropy(left, right) / (parent.n + mass);
    return gain > kRounding * before ? parent.n * gain : 0;
  }
};

}  // namespace hardwood
