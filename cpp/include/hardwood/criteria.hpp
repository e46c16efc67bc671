// The table of criteria: name, parameter, and which struct serves it.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "hardwood/criteria/credal.hpp"
#include "hardwood/criteria/custom.hpp"
#include "hardwood/criteria/entropy.hpp"
#include "hardwood/criteria/generalized_cross_entropy.hpp"
#include "hardwood/criteria/gini.hpp"
#include "hardwood/criteria/misclassification.hpp"
#include "hardwood/criteria/negative_exponential.hpp"
#include "hardwood/criteria/ranking.hpp"
#include "hardwood/criteria/sqrt_gini.hpp"
#include "hardwood/criteria/tabulated.hpp"
#include "hardwood/criteria/twoing.hpp"

namespace hardwood {

struct CriterionSpec {
  std::string_view name;
  double parameter = 0;                        // λ, q or s; ignored by criteria that have none
  const ImpurityTable* table = nullptr;        // of "tabulated"
  const ImpurityFunction* function = nullptr;  // of "custom"
};

// Calls use(criterion) with the struct that the name and parameter ask for. This is the one place
// where a fit looks at the criterion's name.
template <class Use>
auto with_criterion(CriterionSpec spec, const FitContext& context, Use&& use) {
  const auto& [name, parameter, table, function] = spec;
  auto require = [&](bool ok, const char* range) {
    if (!ok) throw std::invalid_argument(std::string(name) + ": " + range);
  };
  if (name == "gini") return use(Gini(context));
  if (name == "entropy") return use(Entropy(context));
  if (name == "misclassification") {
    require(parameter > 0, "constant must be greater than 0");
    return use(Misclassification(context, parameter));
  }
  if (name == "sqrt_gini") return use(SqrtGini(context));
  if (name == "ne") {
    require(parameter >= 0 && parameter <= 1, "lam must be in [0, 1]");
    if (parameter == 0) return use(SqrtGini(context));
    if (parameter == 1) return use(Misclassification(context));
    return use(NegativeExponential(context, parameter));
  }
  if (name == "gce") {
    require(parameter >= 0, "q must be at least 0");
    // Below this, dividing by q would magnify rounding more than entropy differs from it.
    if (parameter < 1e-6) return use(Entropy(context));
    if (parameter >= 1) return use(Misclassification(context, 1 / parameter));
    return use(GeneralizedCrossEntropy(context, parameter));
  }
  if (name == "twoing") {
    if (context.n_classes <= 2) return use(TwoingOfTwoClasses(context));
    return use(Twoing(context));
  }
  if (name == "credal") {
    require(parameter > 0, "s must be greater than 0");
    return use(Credal(context, parameter));
  }
  if (name == "ranking") {
    require(context.n_classes <= 2, "takes two classes only");
    return use(Ranking(context));
  }
  if (name == "tabulated") {
    require(context.n_classes <= 2 && table, "takes two classes and a table");
    return use(Tabulated(context, *table));
  }
  if (name == "custom") {
    require(function && *function, "takes a function");
    return use(Custom(context, *function));
  }
  throw std::invalid_argument("unknown criterion: " + std::string(name));
}

}  // namespace hardwood
