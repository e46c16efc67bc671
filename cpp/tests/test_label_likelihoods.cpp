#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "check.hpp"
#include "hardwood/label_likelihoods.hpp"

using namespace hardwood;

namespace {

constexpr std::size_t kRows = 40, kSettings = 11, kClasses = 3;

struct Rows {
  std::vector<float> votes;
  std::vector<std::int64_t> n_votes;
  std::vector<std::uint16_t> labels;
  std::vector<double> weights;

  explicit Rows(bool weigh_the_same) {
    std::mt19937 rng(3);
    std::uniform_real_distribution<float> vote(0, 1);
    for (std::size_t i = 0; i < kRows * kSettings * kClasses; ++i)
      votes.push_back(i % 7 == 0 ? 0 : vote(rng));
    for (std::size_t i = 0; i < kRows; ++i) {
      n_votes.push_back(2 + static_cast<std::int64_t>(rng() % 3));
      labels.push_back(static_cast<std::uint16_t>(rng() % kClasses));
      weights.push_back(weigh_the_same ? 0.5 : 0.1 + vote(rng));
    }
  }

  VotesOnLabels view() const { return {votes, n_votes, labels, weights, kSettings, kClasses}; }

  double log_likelihood(std::size_t setting, double a, double e, double even) const {
    double sum = 0;
    for (std::size_t i = 0; i < kRows; ++i) {
      double own = 0, all = 0;
      for (std::size_t k = 0; k < kClasses; ++k) {
        const double v = votes[(i * kSettings + setting) * kClasses + k];
        const double p = std::pow(v / static_cast<double>(n_votes[i]) + even / kClasses, a);
        all += p;
        if (k == labels[i]) own = p;
      }
      sum += weights[i] * std::log(std::max((1 - e) * own / all + e / kClasses, 1e-300));
    }
    return sum;
  }
};

const std::vector<double> kExponents{0.5, 0.75, 1,
                                     1.5, 3,    30};  // some twice the one before the last
const std::vector<double> kMixedIn{0, 0.01, 0.3, 0.9};

}  // namespace

TEST_CASE(likelihoods_of_labels_follow_their_formula) {
  for (const bool weigh_the_same : {true, false}) {
    const Rows rows(weigh_the_same);
    std::vector<double> out(kSettings * kExponents.size() * kMixedIn.size());
    label_likelihoods(rows.view(), {kExponents, kMixedIn, 0.05}, 1, {}, out);
    std::size_t i = 0;
    for (std::size_t setting = 0; setting < kSettings; ++setting)
      for (const double a : kExponents)
        for (const double e : kMixedIn)
          CHECK(check::near(out[i++], rows.log_likelihood(setting, a, e, 0.05), 1e-11));
  }
}

TEST_CASE(likelihoods_of_labels_do_not_depend_on_threads) {
  const Rows rows(true);
  std::vector<double> one(kSettings * kExponents.size() * kMixedIn.size()), three(one.size());
  label_likelihoods(rows.view(), {kExponents, kMixedIn, 0.05}, 1, {}, one);
  label_likelihoods(rows.view(), {kExponents, kMixedIn, 0.05}, 3, {}, three);
  CHECK(one == three);
}
