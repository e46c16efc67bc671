// Codes.
#include <nanobind/stl/unique_ptr.h>

#include "bindings.hpp"

namespace hardwood {
namespace {

template <class T>
std::unique_ptr<Codes> code(const Matrix<T>& X, int n_threads) {
  const auto matrix = view(X);
  nb::gil_scoped_release release;
  return std::make_unique<Codes>(make_codes(matrix, n_threads, check_signals));
}

}  // namespace

void bind_codes(nb::module_& m) {
  nb::class_<Codes>(m, "Codes")
      .def_prop_ro("n_rows", [](const Codes& c) { return c.n_rows; })
      .def_prop_ro("n_columns", &Codes::n_columns)
      .def_prop_ro("n_codes", [](const Codes& c) {
        std::vector<std::uint32_t> n_codes;
        for (const auto& column : c.columns) n_codes.push_back(column.n_codes);
        return to_numpy(std::move(n_codes));
      });
  m.def("code", &code<float>, "X"_a.noconvert(), "n_threads"_a = 1);
  m.def("code", &code<double>, "X"_a.noconvert(), "n_threads"_a = 1);
}

}  // namespace hardwood
