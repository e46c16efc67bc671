// What is said once about a criterion: its names, its parameters, its limits.
//
// Each struct in criteria/ has a `record()`. The engine checks parameters against it, and Python
// makes its parameter objects, their checks, messages and docstrings, and the table in the docs
// from it.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

namespace hardwood {

struct CriterionParameter {
  std::string_view name;
  double default_value;
  std::string_view doc;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool includes_low = true;
  bool includes_high = true;

  bool allows(double value) const {
    return (includes_low ? value >= low : value > low) &&
           (includes_high ? value <= high : value < high);
  }
};

struct CriterionRecord {
  std::string_view name;        // in the engine, in files, and as `criterion="name"`
  std::string_view class_name;  // of its parameter object in hardwood.criteria; empty: none
  std::string_view formula;     // for the docs
  std::string_view doc;         // one sentence
  std::vector<std::string_view> aliases = {};
  std::vector<CriterionParameter> parameters = {};
  bool two_classes_only = false;
  bool scores_splits = false;  // its gain is not a decrease of impurity, and has a scale of its own
  std::string_view why_no_optimal_leaf = {};  // why a leaf has no prediction of smallest risk
};

}  // namespace hardwood
