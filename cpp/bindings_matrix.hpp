// X as Python hands it over: an array of any type of number, or a sparse matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bindings.hpp"
#include "hardwood/codes.hpp"

namespace hardwood {

class InputMatrix {
 public:
  // Of an ndarray, or of what has the attributes of a matrix in CSR format.
  explicit InputMatrix(const nb::object& X) {
    if (nb::hasattr(X, "indptr"))
      sparse_.emplace(X);
    else if (!nb::try_cast(X, dense_, false))
      throw nb::type_error("X must be a NumPy array with two dimensions, or a sparse matrix");
  }

  std::size_t n_rows() const { return sparse_ ? sparse_->shape.first : dense_.shape(0); }
  std::size_t n_columns() const { return sparse_ ? sparse_->shape.second : dense_.shape(1); }
  bool is_sparse() const { return sparse_.has_value(); }

  // Calls use(MatrixView) or use(SparseView).
  template <class Use>
  void with_view(const Use& use) const {
    if (sparse_)
      with_sparse(use);
    else
      with_dense(use);
  }

 private:
  using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
  using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

  struct Sparse {
    std::pair<std::size_t, std::size_t> shape;
    AnyVector values;
    Vector<std::int32_t> columns;
    Vector<std::int64_t> starts;

    explicit Sparse(const nb::object& X)
        : values(nb::cast<AnyVector>(X.attr("data"))),
          columns(nb::cast<Vector<std::int32_t>>(X.attr("indices"))),
          starts(nb::cast<Vector<std::int64_t>>(X.attr("indptr"))) {
      const nb::object of_X = X.attr("shape");
      shape = {nb::cast<std::size_t>(of_X[0]), nb::cast<std::size_t>(of_X[1])};
    }
  };

  template <class Use>
  void with_sparse(const Use& use) const {
    auto with = [&]<class T>(T) {
      const std::span values(static_cast<const T*>(sparse_->values.data()),
                             sparse_->values.shape(0));
      use(SparseView<T>{sparse_->shape.first, sparse_->shape.second, values, view(sparse_->columns),
                        view(sparse_->starts)});
    };
    if (sparse_->values.dtype() == nb::dtype<float>()) return with(float{});
    if (sparse_->values.dtype() == nb::dtype<double>()) return with(double{});
    throw std::invalid_argument("sparse X must be float32 or float64");
  }

  template <class Use>
  void with_dense(const Use& use) const {
    const bool is_known =
        with_dense_of<double, float, std::uint8_t, std::int8_t, std::uint16_t, std::int16_t,
                      std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>(use);
    if (is_known) return;
    if (dense_.dtype() != nb::dtype<bool>())
      throw std::invalid_argument("X must be of whole numbers, bool, float32 or float64");
    use(view_of<std::uint8_t>());
  }

  template <class... Ts, class Use>
  bool with_dense_of(const Use& use) const {
    auto with = [&]<class T>(T) {
      if (dense_.dtype() != nb::dtype<T>()) return false;
      use(view_of<T>());
      return true;
    };
    return (with(Ts{}) || ...);
  }

  template <class T>
  MatrixView<T> view_of() const {
    return {static_cast<const T*>(dense_.data()), dense_.shape(0), dense_.shape(1),
            dense_.stride(0), dense_.stride(1)};
  }

  AnyMatrix dense_;
  std::optional<Sparse> sparse_;
};

}  // namespace hardwood
