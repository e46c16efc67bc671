// Criteria: what Python is told about them, and how it hands one over.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings.hpp"
#include "hardwood/criteria.hpp"

namespace hardwood {
namespace {

// Bits, octaves, pieces as (2 cells, 4), kinks as rows (lighter class, cell, share, piece above).
using TableArrays = std::tuple<int, int, RowMatrix<double>, RowMatrix<double>>;

ImpurityTable to_table(const TableArrays& arrays) {
  const auto& [bits, octaves, pieces, kinks] = arrays;
  if (pieces.shape(1) != 4 || kinks.shape(1) != 7)
    throw std::invalid_argument("table: pieces must have 4 columns and kinks 7");
  ImpurityTable table{bits, octaves, {}, {}};
  const double* p = pieces.data();
  for (std::size_t i = 0; i < pieces.shape(0); ++i, p += 4)
    table.pieces.push_back({p[0], p[1], p[2], p[3]});
  const double* k = kinks.data();
  for (std::size_t i = 0; i < kinks.shape(0); ++i, k += 7)
    table.kinks.push_back({static_cast<std::size_t>(k[0]),
                           static_cast<std::size_t>(k[1]),
                           k[2],
                           {k[3], k[4], k[5], k[6]}});
  return table;
}

}  // namespace

void bind_criteria(nb::module_& m) {
  nb::class_<CriterionParameter>(m, "CriterionParameter")
      .def_ro("name", &CriterionParameter::name)
      .def_ro("default", &CriterionParameter::default_value)
      .def_ro("doc", &CriterionParameter::doc)
      .def_ro("low", &CriterionParameter::low)
      .def_ro("high", &CriterionParameter::high)
      .def_ro("includes_low", &CriterionParameter::includes_low)
      .def_ro("includes_high", &CriterionParameter::includes_high);

  auto record = [](auto CriterionRecord::* member) {
    return [member](const ListedCriterion& c) { return c.record.*member; };
  };
  nb::class_<ListedCriterion>(m, "CriterionRecord")
      .def_prop_ro("name", record(&CriterionRecord::name))
      .def_prop_ro("class_name", record(&CriterionRecord::class_name))
      .def_prop_ro("formula", record(&CriterionRecord::formula))
      .def_prop_ro("doc", record(&CriterionRecord::doc))
      .def_prop_ro("aliases", record(&CriterionRecord::aliases))
      .def_prop_ro("parameters", record(&CriterionRecord::parameters))
      .def_prop_ro("two_classes_only", record(&CriterionRecord::two_classes_only))
      .def_prop_ro("scores_splits", record(&CriterionRecord::scores_splits))
      .def_prop_ro("why_no_optimal_leaf", record(&CriterionRecord::why_no_optimal_leaf))
      .def_ro("has_optimal_leaf", &ListedCriterion::has_optimal_leaf);
  m.def("criteria", &list_criteria, "The records of all criteria.");

  nb::class_<PythonCriterion>(m, "Criterion")
      .def(
          "__init__",
          [](PythonCriterion* self, std::string name, std::vector<double> parameters,
             const std::optional<TableArrays>& table, nb::object function) {
            std::optional<ImpurityTable> own_table;
            if (table) own_table = to_table(*table);
            new (self) PythonCriterion(std::move(name), std::move(parameters), std::move(own_table),
                                       std::move(function));
          },
          "name"_a, "parameters"_a = std::vector<double>{}, "table"_a.none() = nb::none(),
          "function"_a.none() = nb::none());
}

}  // namespace hardwood
