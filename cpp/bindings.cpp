// The Python face of the engine, and the only file that knows Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hardwood/codes.hpp"
#include "hardwood/expand.hpp"
#include "hardwood/fit.hpp"
#include "hardwood/predict.hpp"
#include "hardwood/prune.hpp"

#ifndef HARDWOOD_ISA
#define HARDWOOD_ISA baseline
#endif
#define HARDWOOD_STRINGIFY_(name) #name
#define HARDWOOD_STRINGIFY(name) HARDWOOD_STRINGIFY_(name)

namespace nb = nanobind;
using namespace nb::literals;

namespace hardwood {
namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using StridedMatrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Array = nb::ndarray<nb::numpy, T>;

template <class T>
std::span<const T> view(const Vector<T>& array) {
  return {array.data(), array.shape(0)};
}

template <class T>
MatrixView<T> view(const StridedMatrix<T>& array) {
  return {array.data(), array.shape(0), array.shape(1), array.stride(0), array.stride(1)};
}

// Hands a vector over to NumPy without copying.
template <class T>
Array<T> to_numpy(std::vector<T> values, std::vector<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(owned->data(), shape.size(), shape.data(), owner);
}

template <class T>
Array<T> to_numpy(std::vector<T> values) {
  const std::size_t n = values.size();
  return to_numpy(std::move(values), {n});
}

// Lets Ctrl-C end work that runs without the GIL.
void check_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// A tree as Python keeps it: nodes (n, 16) bytes, leaf counts (leaves, classes), leaf rows.
nb::tuple to_python(Tree tree) {
  const std::size_t n = tree.nodes.size(), n_leaves = tree.n_leaves();
  std::vector<std::uint8_t> bytes(n * sizeof(Node));
  std::memcpy(bytes.data(), tree.nodes.data(), bytes.size());
  return nb::make_tuple(to_numpy(std::move(bytes), {n, sizeof(Node)}),
                        to_numpy(std::move(tree.leaf_counts), {n_leaves, tree.n_classes}),
                        to_numpy(std::move(tree.leaf_rows)));
}

using Bytes = Matrix<std::uint8_t>;

std::vector<Node> to_nodes(const Bytes& bytes) {
  if (bytes.shape(1) != sizeof(Node)) throw std::invalid_argument("nodes must be 16 bytes wide");
  std::vector<Node> nodes(bytes.shape(0));
  std::memcpy(nodes.data(), bytes.data(), nodes.size() * sizeof(Node));
  return nodes;
}

Tree to_tree(const Bytes& nodes, const Matrix<double>& leaf_counts,
             const Vector<std::uint32_t>& leaf_rows) {
  Tree tree;
  tree.n_classes = leaf_counts.shape(1);
  tree.nodes = to_nodes(nodes);
  tree.leaf_counts.assign(leaf_counts.data(), leaf_counts.data() + leaf_counts.size());
  tree.leaf_rows.assign(leaf_rows.data(), leaf_rows.data() + leaf_rows.size());
  return tree;
}

template <class T>
std::unique_ptr<Codes> code(const StridedMatrix<T>& X, int n_threads) {
  const auto matrix = view(X);
  nb::gil_scoped_release release;
  return std::make_unique<Codes>(make_codes(matrix, n_threads, check_signals));
}

template <class T>
Array<std::int64_t> apply_tree(const Bytes& nodes, const StridedMatrix<T>& X) {
  const auto tree = to_nodes(nodes);
  const auto matrix = view(X);
  std::vector<std::int64_t> leaves(matrix.n_rows);
  {
    nb::gil_scoped_release release;
    apply<T>(tree, matrix, leaves);
  }
  return to_numpy(std::move(leaves));
}

nb::tuple fit(const Codes& codes, const Vector<std::uint16_t>& labels,
              const std::optional<Vector<double>>& weights, std::size_t n_classes,
              const std::string& criterion, double parameter, std::size_t max_features,
              bool random_cuts, const std::vector<int>& monotonic_cst, std::size_t max_depth,
              std::size_t min_rows_split, std::size_t min_rows_leaf, double min_weight_leaf,
              double min_gain, std::size_t max_leaves, std::uint64_t seed) {
  const GrowOptions options{
      .search = {max_features, random_cuts, monotonic_cst},
      .max_depth = max_depth,
      .min_rows_split = min_rows_split,
      .min_rows_leaf = min_rows_leaf,
      .min_weight_leaf = min_weight_leaf,
      .min_gain = min_gain,
      .max_leaves = max_leaves,
  };
  const std::span<const double> all_weights = weights ? view(*weights) : std::span<const double>();
  FittedTree fitted;
  {
    nb::gil_scoped_release release;
    fitted = fit_tree(codes, view(labels), all_weights, n_classes, {criterion, parameter}, options,
                      seed, check_signals);
  }
  return nb::make_tuple(to_python(std::move(fitted.tree)), fitted.weight_unit);
}

nb::dict expand_tree(const Bytes& nodes, const Matrix<double>& leaf_counts,
                     const Vector<std::uint32_t>& leaf_rows, double weight_unit,
                     const std::string& criterion, double parameter,
                     const std::vector<int>& monotonic_cst) {
  const Tree tree = to_tree(nodes, leaf_counts, leaf_rows);
  ExpandedTree e = expand(tree, weight_unit, {criterion, parameter}, monotonic_cst);
  const std::size_t n = tree.nodes.size();
  nb::dict out;
  out["left_child"] = to_numpy(std::move(e.left));
  out["right_child"] = to_numpy(std::move(e.right));
  out["feature"] = to_numpy(std::move(e.feature));
  out["threshold"] = to_numpy(std::move(e.threshold));
  out["impurity"] = to_numpy(std::move(e.impurity));
  out["n_node_samples"] = to_numpy(std::move(e.n_rows));
  out["weighted_n_node_samples"] = to_numpy(std::move(e.weight));
  out["missing_go_to_left"] = to_numpy(std::move(e.missing_left));
  out["value"] = to_numpy(std::move(e.value), {n, tree.n_classes});
  out["gain"] = to_numpy(std::move(e.gain));
  out["max_depth"] = e.max_depth;
  return out;
}

nb::tuple path(const Bytes& nodes, const Matrix<double>& leaf_counts,
               const Vector<std::uint32_t>& leaf_rows, const Vector<double>& gain) {
  const PruningPath p = pruning_path(to_tree(nodes, leaf_counts, leaf_rows), view(gain),
                                     std::numeric_limits<double>::infinity());
  return nb::make_tuple(to_numpy(p.alphas), to_numpy(p.gains));
}

nb::tuple prune(const Bytes& nodes, const Matrix<double>& leaf_counts,
                const Vector<std::uint32_t>& leaf_rows, const Vector<double>& gain, double alpha) {
  const Tree tree = to_tree(nodes, leaf_counts, leaf_rows);
  return to_python(collapse(tree, pruning_path(tree, view(gain), alpha).node));
}

}  // namespace
}  // namespace hardwood

NB_MODULE(HARDWOOD_MODULE, m) {
  using namespace hardwood;
  m.attr("ISA") = HARDWOOD_STRINGIFY(HARDWOOD_ISA);

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
  m.def("fit_tree", &fit, nb::kw_only(), "codes"_a, "labels"_a.noconvert(),
        "weights"_a.noconvert().none(), "n_classes"_a, "criterion"_a, "parameter"_a,
        "max_features"_a, "random_cuts"_a, "monotonic_cst"_a, "max_depth"_a, "min_rows_split"_a,
        "min_rows_leaf"_a, "min_weight_leaf"_a, "min_gain"_a, "max_leaves"_a, "seed"_a);
  m.def("apply", &apply_tree<float>, "nodes"_a.noconvert(), "X"_a.noconvert());
  m.def("apply", &apply_tree<double>, "nodes"_a.noconvert(), "X"_a.noconvert());
  m.def("expand", &expand_tree, "nodes"_a, "leaf_counts"_a, "leaf_rows"_a, "weight_unit"_a,
        "criterion"_a, "parameter"_a, "monotonic_cst"_a);
  m.def("pruning_path", &path, "nodes"_a, "leaf_counts"_a, "leaf_rows"_a, "gain"_a);
  m.def("prune", &prune, "nodes"_a, "leaf_counts"_a, "leaf_rows"_a, "gain"_a, "alpha"_a);

  // What this processor can run, for the choice between the copies of this module.
  m.def("supported_isas", [] {
    std::vector<std::string> names{"baseline"};
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) names.push_back("avx2");
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      names.push_back("avx512");
#endif
    return names;
  });
}
