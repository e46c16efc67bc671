// Which criteria the tests run through: those of the engine's records.
#pragma once

#include <vector>

#include "hardwood/criteria.hpp"

// All criteria that a name and numbers suffice for, with the defaults of their parameters.
inline std::vector<hardwood::CriterionSpec> named_criteria() {
  std::vector<hardwood::CriterionSpec> specs;
  for (const auto& [record, has_optimal_leaf] : hardwood::list_criteria()) {
    if (record.class_name.empty()) continue;
    hardwood::CriterionSpec spec{record.name};
    for (const auto& parameter : record.parameters)
      spec.parameters.push_back(parameter.default_value);
    specs.push_back(spec);
  }
  return specs;
}
