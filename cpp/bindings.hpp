// What the files that know Python share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hardwood/any_criterion.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/criteria/from_loss.hpp"

namespace hardwood {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using RowMatrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T, std::size_t n_dimensions = 1>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<n_dimensions>>;

template <class T>
std::span<const T> view(const Vector<T>& array) {
  return {array.data(), array.shape(0)};
}

template <class T>
MatrixView<T> view(const Matrix<T>& array) {
  return {array.data(), array.shape(0), array.shape(1), array.stride(0), array.stride(1)};
}

// Hands a vector over to NumPy without copying.
template <class T, class Allocator, class... Sizes>
auto to_numpy(std::vector<T, Allocator> values, Sizes... sizes) {
  using Values = std::vector<T, Allocator>;
  constexpr std::size_t n_dimensions = sizeof...(Sizes) + (sizeof...(Sizes) == 0);
  auto* owned = new Values(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Values*>(p); });
  if constexpr (sizeof...(Sizes) == 0)
    return Array<T>(owned->data(), {owned->size()}, owner);
  else
    return Array<T, n_dimensions>(owned->data(), {static_cast<std::size_t>(sizes)...}, owner);
}

// Lets Ctrl-C end work that runs without the GIL.
inline void check_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// A criterion as Python hands it over. A function may be called from any thread.
class PythonCriterion {
 public:
  PythonCriterion(std::string name, std::vector<double> parameters,
                  std::optional<ImpurityTable> table, nb::object function)
      : name_(std::move(name)),
        parameters_(std::move(parameters)),
        table_(std::move(table)),
        function_(std::move(function)) {
    if (!function_.is_none())
      call_ = [this](auto p, auto n_classes, auto out) { call(p, n_classes, out); };
  }
  PythonCriterion(const PythonCriterion&) = delete;
  PythonCriterion& operator=(const PythonCriterion&) = delete;

  CriterionSpec spec() const {
    return {name_, parameters_, table_ ? &*table_ : nullptr, call_ ? &call_ : nullptr};
  }

 private:
  void call(std::span<const double> p, std::size_t n_classes, std::span<double> out) const {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    const nb::object values =
        function_(to_numpy(std::vector<double>(p.begin(), p.end()), out.size(), n_classes));
    const auto impurities = nb::cast<Vector<double>>(values);
    if (impurities.shape(0) != out.size())
      throw std::invalid_argument("the function must return one impurity for each row");
    std::copy_n(impurities.data(), out.size(), out.begin());
  }

  std::string name_;
  std::vector<double> parameters_;
  std::optional<ImpurityTable> table_;
  nb::object function_;
  ImpurityFunction call_;
};

void bind_criteria(nb::module_& m);
void bind_forest(nb::module_& m);
void bind_parts(nb::module_& m);

}  // namespace hardwood
