// The list of criteria, and which struct serves a name and its parameters.
#pragma once

#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "hardwood/any_criterion.hpp"
#include "hardwood/criteria/credal.hpp"
#include "hardwood/criteria/custom_impurity.hpp"
#include "hardwood/criteria/entropy.hpp"
#include "hardwood/criteria/from_loss.hpp"
#include "hardwood/criteria/generalized_cross_entropy.hpp"
#include "hardwood/criteria/gini.hpp"
#include "hardwood/criteria/misclassification.hpp"
#include "hardwood/criteria/negative_exponential.hpp"
#include "hardwood/criteria/ranking.hpp"
#include "hardwood/criteria/sqrt_gini.hpp"
#include "hardwood/criteria/twoing.hpp"
#include "hardwood/criterion.hpp"
#include "hardwood/criterion_record.hpp"

namespace hardwood {

template <class... C>
struct TypeList {};

// clang-format off
using AllCriteria = TypeList<
    NegativeExponential,
    Misclassification,
    Gini,
    Entropy,
    SqrtGini,
    GeneralizedCrossEntropy,
    Twoing,
    Credal,
    Ranking,
    FromLoss,
    CustomImpurity>;
// clang-format on

// Throws std::invalid_argument unless the parameters and the number of classes are allowed.
inline void check(const CriterionRecord& record, const CriterionSpec& spec, std::size_t n_classes) {
  std::ostringstream message;
  message << record.name << ": ";
  if (spec.parameters.size() != record.parameters.size()) {
    message << "takes " << record.parameters.size() << " parameters, not "
            << spec.parameters.size();
    throw std::invalid_argument(message.str());
  }
  for (std::size_t i = 0; i < record.parameters.size(); ++i) {
    const CriterionParameter& p = record.parameters[i];
    if (p.allows(spec.parameters[i])) continue;
    message << p.name << " must be in " << (p.includes_low ? '[' : '(') << p.low << ", " << p.high
            << (p.includes_high ? ']' : ')') << ", but is " << spec.parameters[i];
    throw std::invalid_argument(message.str());
  }
  if (record.two_classes_only && n_classes > 2) {
    message << "takes two classes only";
    throw std::invalid_argument(message.str());
  }
}

// Calls use(criterion) with the struct that serves C's name for these parameters.
template <class C, class Use>
auto with_struct(const CriterionSpec& spec, const FitContext& context, const Use& use) {
  const std::vector<double>& p = spec.parameters;
  if constexpr (std::is_same_v<C, FromLoss>) {
    if (!spec.table) throw std::invalid_argument("from_loss: takes a table");
    return use(FromLoss(context, *spec.table));
  } else if constexpr (std::is_same_v<C, CustomImpurity>) {
    if (!spec.function || !*spec.function)
      throw std::invalid_argument("custom_impurity: takes a function");
    return use(CustomImpurity(context, p[0], *spec.function));
  } else if constexpr (requires { C::with(context, use); }) {
    return C::with(context, use);
  } else if constexpr (requires { C::with(context, 0.0, use); }) {
    return C::with(context, p[0], use);
  } else if constexpr (requires { C::with(context, 0.0, 0.0, use); }) {
    return C::with(context, p[0], p[1], use);
  } else if constexpr (std::is_constructible_v<C, const FitContext&, double, double>) {
    return use(C(context, p[0], p[1]));
  } else if constexpr (std::is_constructible_v<C, const FitContext&, double>) {
    return use(C(context, p[0]));
  } else {
    return use(C(context));
  }
}

template <class... C, class Use>
auto with_criterion_of(TypeList<C...>, const CriterionSpec& spec, const FitContext& context,
                       const Use& use) {
  using Result = std::invoke_result_t<Use, const Gini&>;
  // A stand-in, as a fold cannot return.
  std::optional<std::conditional_t<std::is_void_v<Result>, bool, Result>> result;
  auto serve = [&]<class Named>() {
    const CriterionRecord record = Named::record();
    if (record.name != spec.name) return false;
    check(record, spec, context.n_classes);
    if constexpr (std::is_void_v<Result>) {
      with_struct<Named>(spec, context, use);
      result = true;
    } else {
      result = with_struct<Named>(spec, context, use);
    }
    return true;
  };
  if (!(serve.template operator()<C>() || ...))
    throw std::invalid_argument("unknown criterion: " + std::string(spec.name));
  if constexpr (!std::is_void_v<Result>) return std::move(*result);
}

// Calls use(criterion) with the struct that the spec asks for. This is the one place where a fit
// looks at the criterion's name.
template <class Use>
auto with_criterion(const CriterionSpec& spec, const FitContext& context, const Use& use) {
  return with_criterion_of(AllCriteria{}, spec, context, use);
}

// What Python is told about the criteria.
struct ListedCriterion {
  CriterionRecord record;
  bool has_optimal_leaf;
};
std::vector<ListedCriterion> list_criteria();

}  // namespace hardwood
