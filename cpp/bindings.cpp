// The Python face of the engine, and the only file that knows Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "hardwood/codes.hpp"
#include "hardwood/expand.hpp"
#include "hardwood/fit.hpp"
#include "hardwood/forest.hpp"
#include "hardwood/predict.hpp"
#include "hardwood/prune.hpp"
#include "hardwood/smooth.hpp"
#include "hardwood/validate.hpp"

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
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Array = nb::ndarray<nb::numpy, T>;

template <class T>
std::span<const T> view(const Vector<T>& array) {
  return {array.data(), array.shape(0)};
}

template <class T>
MatrixView<T> view(const Matrix<T>& array) {
  return {array.data(), array.shape(0), array.shape(1), array.stride(0), array.stride(1)};
}

// Hands a vector over to NumPy without copying.
template <class T, class Allocator>
Array<T> to_numpy(std::vector<T, Allocator> values, std::vector<std::size_t> shape) {
  using Values = std::vector<T, Allocator>;
  auto* owned = new Values(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Values*>(p); });
  return Array<T>(owned->data(), shape.size(), shape.data(), owner);
}

template <class T, class Allocator>
Array<T> to_numpy(std::vector<T, Allocator> values) {
  const std::size_t n = values.size();
  return to_numpy(std::move(values), {n});
}

// Lets Ctrl-C end work that runs without the GIL.
void check_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// --- Criteria of the user's own ------------------------------------------------------------------

// Bits, octaves, pieces as (2 cells, 4), kinks as rows (lighter class, cell, share, piece above).
using RowMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using TableArrays = std::tuple<int, int, RowMatrix, RowMatrix>;

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

// A Python function of rows of class proportions that returns a vector of impurities. It may be
// called from any thread.
class PythonImpurity {
 public:
  explicit PythonImpurity(const nb::object& function)
      : function_(function), call_([this](auto p, auto n_classes, auto out) {
          nb::gil_scoped_acquire gil;
          if (PyErr_CheckSignals() != 0) throw nb::python_error();
          const nb::object values =
              function_(to_numpy(std::vector<double>(p.begin(), p.end()), {out.size(), n_classes}));
          const auto impurities = nb::cast<Vector<double>>(values);
          if (impurities.shape(0) != out.size())
            throw std::invalid_argument("the function must return one impurity for each row");
          std::copy_n(impurities.data(), out.size(), out.begin());
        }) {}
  PythonImpurity(const PythonImpurity&) = delete;
  PythonImpurity& operator=(const PythonImpurity&) = delete;

  const ImpurityFunction& call() const { return call_; }

 private:
  const nb::object& function_;
  ImpurityFunction call_;
};

// A criterion as Python names it: with a table, a function, or neither.
class PythonCriterion {
 public:
  PythonCriterion(const std::string& name, double parameter,
                  const std::optional<TableArrays>& table, const nb::object& function)
      : name_(name), parameter_(parameter) {
    if (table) table_ = to_table(*table);
    if (!function.is_none()) function_.emplace(function);
  }

  CriterionSpec spec() const {
    return {name_, parameter_, table_ ? &*table_ : nullptr,
            function_ ? &function_->call() : nullptr};
  }

 private:
  std::string_view name_;
  double parameter_;
  std::optional<ImpurityTable> table_;
  std::optional<PythonImpurity> function_;
};

// --- Trees, as Python keeps them: a tuple of arrays -------------------------------------------
// (nodes as (n, 16) bytes, entry labels, entry counts, starts of the trees among nodes, and among
// entries). Counts are of the smallest type that holds them.

using NodeBytes = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Starts = Vector<std::int64_t>;
using Votes = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

nb::object counts_to_numpy(Forest& forest) {
  auto narrowed = [&]<class Count>(Count) {
    std::vector<Count> counts(forest.entry_count.begin(), forest.entry_count.end());
    return nb::cast(to_numpy(std::move(counts)));
  };
  switch (forest.count_kind()) {
    case CountKind::u16:
      return narrowed(std::uint16_t{});
    case CountKind::u32:
      return narrowed(std::uint32_t{});
    default:
      return nb::cast(to_numpy(std::move(forest.entry_count)));
  }
}

// The vector of nodes becomes the array's memory.
nb::object nodes_to_numpy(Buffer<Node> nodes) {
  auto* owned = new Buffer<Node>(std::move(nodes));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Buffer<Node>*>(p); });
  const std::size_t shape[] = {owned->size(), sizeof(Node)};
  return nb::cast(Array<std::uint8_t>(owned->data(), 2, shape, owner));
}

nb::tuple to_python(Forest forest) {
  nb::object counts = counts_to_numpy(forest);
  return nb::make_tuple(
      nodes_to_numpy(std::move(forest.nodes)), to_numpy(std::move(forest.entry_label)), counts,
      to_numpy(std::move(forest.node_start)), to_numpy(std::move(forest.entry_start)));
}

// Calls use(view of the forest) for whichever type the counts have.
template <class Use>
auto with_forest(std::size_t n_classes, const NodeBytes& bytes, const Vector<std::uint16_t>& labels,
                 const AnyVector& counts, const Starts& node_start, const Starts& entry_start,
                 const Use& use) {
  if (bytes.shape(1) != sizeof(Node) ||
      reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(Node) != 0)
    throw std::invalid_argument("nodes must be 16 bytes wide, and aligned");
  const std::span<const Node> nodes(reinterpret_cast<const Node*>(bytes.data()), bytes.shape(0));
  auto with = [&]<class Count>(Count) {
    return use(ForestView<Count>{n_classes,
                                 nodes,
                                 view(labels),
                                 {static_cast<const Count*>(counts.data()), counts.shape(0)},
                                 view(node_start),
                                 view(entry_start)});
  };
  if (counts.dtype() == nb::dtype<std::uint16_t>()) return with(std::uint16_t{});
  if (counts.dtype() == nb::dtype<std::uint32_t>()) return with(std::uint32_t{});
  if (counts.dtype() == nb::dtype<double>()) return with(double{});
  throw std::invalid_argument("counts must be uint16, uint32 or float64");
}

Tree to_tree(std::size_t n_classes, const NodeBytes& bytes, const Vector<std::uint16_t>& labels,
             const AnyVector& counts, const Starts& node_start, const Starts& entry_start,
             std::size_t t) {
  return with_forest(n_classes, bytes, labels, counts, node_start, entry_start,
                     [&](auto forest) { return tree_of(forest, t); });
}

// --- Functions ---------------------------------------------------------------------------------

template <class T>
std::unique_ptr<Codes> code(const Matrix<T>& X, int n_threads) {
  const auto matrix = view(X);
  nb::gil_scoped_release release;
  return std::make_unique<Codes>(make_codes(matrix, n_threads, check_signals));
}

using Progress = std::function<void(std::size_t)>;

nb::tuple fit(const Codes& codes, const Vector<std::uint16_t>& labels,
              const std::optional<Vector<double>>& weights, std::size_t n_classes,
              const std::string& criterion, double parameter,
              const std::optional<TableArrays>& table, const nb::object& function,
              std::size_t max_features, bool random_cuts, const std::vector<int>& monotonic_cst,
              std::size_t max_depth, std::size_t min_rows_split, std::size_t min_rows_leaf,
              double min_weight_leaf, double min_gain, std::size_t max_leaves,
              std::size_t first_tree, std::size_t n_trees, std::size_t n_draws, bool balance_draws,
              std::uint64_t seed, int n_threads, const std::optional<Progress>& progress) {
  const FitOptions options{
      .grow = {.search = {max_features, random_cuts, monotonic_cst},
               .max_depth = max_depth,
               .min_rows_split = min_rows_split,
               .min_rows_leaf = min_rows_leaf,
               .min_weight_leaf = min_weight_leaf,
               .min_gain = min_gain,
               .max_leaves = max_leaves},
      .first_tree = first_tree,
      .n_trees = n_trees,
      .n_draws = n_draws,
      .balance_draws = balance_draws,
      .seed = seed,
      .n_threads = n_threads,
  };
  const TrainingData data{codes, view(labels), weights ? view(*weights) : std::span<const double>(),
                          n_classes};
  std::atomic<std::size_t> n_done{0};
  auto poll = [&] {
    check_signals();
    if (!progress) return;
    nb::gil_scoped_acquire gil;
    (*progress)(n_done);
  };
  const PythonCriterion own_criterion(criterion, parameter, table, function);
  std::optional<Forest> forest;
  double weight_unit = 1;
  {
    nb::gil_scoped_release release;
    FittedTrees fitted = fit_trees(data, own_criterion.spec(), options, poll, n_done);
    weight_unit = fitted.weight_unit;
    forest.emplace(std::move(fitted.trees), n_threads);
  }
  return nb::make_tuple(to_python(std::move(*forest)), weight_unit);
}

template <class T>
Array<std::int64_t> apply_forest(std::size_t n_classes, const NodeBytes& nodes,
                                 const Vector<std::uint16_t>& labels, const AnyVector& counts,
                                 const Starts& node_start, const Starts& entry_start,
                                 const Matrix<T>& X, int n_threads) {
  const auto matrix = view(X);
  const std::size_t n_trees = node_start.shape(0) - 1;
  std::vector<std::int64_t> leaves(matrix.n_rows * n_trees);
  with_forest(n_classes, nodes, labels, counts, node_start, entry_start, [&](auto forest) {
    nb::gil_scoped_release release;
    apply(forest, matrix, n_threads, check_signals, leaves);
  });
  return to_numpy(std::move(leaves), {matrix.n_rows, n_trees});
}

template <class T>
Array<double> forest_proba(std::size_t n_classes, const NodeBytes& nodes,
                           const Vector<std::uint16_t>& labels, const AnyVector& counts,
                           const Starts& node_start, const Starts& entry_start, const Matrix<T>& X,
                           int n_threads) {
  const auto matrix = view(X);
  std::vector<double> proba(matrix.n_rows * n_classes, 0);
  with_forest(n_classes, nodes, labels, counts, node_start, entry_start, [&](auto forest) {
    nb::gil_scoped_release release;
    predict_proba(forest, matrix, n_threads, check_signals, proba);
  });
  return to_numpy(std::move(proba), {matrix.n_rows, n_classes});
}

template <class T>
nb::tuple oob_votes(std::size_t n_classes, const NodeBytes& nodes,
                    const Vector<std::uint16_t>& labels, const AnyVector& counts,
                    const Starts& node_start, const Starts& entry_start, const Matrix<T>& X,
                    const std::optional<Vector<double>>& weights, std::size_t n_draws,
                    std::uint64_t seed, int n_threads) {
  const auto matrix = view(X);
  const std::span<const double> w = weights ? view(*weights) : std::span<const double>();
  if (!w.empty() && w.size() != matrix.n_rows)
    throw std::invalid_argument("weights must have as many entries as X has rows");
  std::vector<double> votes(matrix.n_rows * n_classes, 0);
  std::vector<std::int64_t> n_votes(matrix.n_rows, 0);
  with_forest(n_classes, nodes, labels, counts, node_start, entry_start, [&](auto forest) {
    nb::gil_scoped_release release;
    const Bootstrap bootstrap(matrix.n_rows, n_draws, w);
    out_of_bag_votes(forest, matrix, bootstrap, seed, n_threads, check_signals, votes, n_votes);
  });
  return nb::make_tuple(to_numpy(std::move(votes), {matrix.n_rows, n_classes}),
                        to_numpy(std::move(n_votes)));
}

template <class T>
nb::tuple oob_smoothed(std::size_t n_classes, const NodeBytes& nodes,
                       const Vector<std::uint16_t>& labels, const AnyVector& counts,
                       const Starts& node_start, const Starts& entry_start, const Matrix<T>& X,
                       const std::optional<Vector<double>>& weights, std::size_t n_draws,
                       std::uint64_t seed, std::size_t first_tree,
                       const Vector<std::uint32_t>& rows, const Vector<std::uint32_t>& stops,
                       const Vector<double>& shrinkages, int n_threads) {
  const auto matrix = view(X);
  const std::span<const double> w = weights ? view(*weights) : std::span<const double>();
  if (!w.empty() && w.size() != matrix.n_rows)
    throw std::invalid_argument("weights must have as many entries as X has rows");
  const auto chosen = view(rows);
  if (std::any_of(chosen.begin(), chosen.end(), [&](auto row) { return row >= matrix.n_rows; }))
    throw std::invalid_argument("rows must be among those of X");
  const Smoothings smoothings{view(stops), view(shrinkages)};
  Buffer<float> votes(chosen.size() * smoothings.size() * n_classes);
  std::vector<std::int64_t> n_votes(chosen.size());
  with_forest(n_classes, nodes, labels, counts, node_start, entry_start, [&](auto forest) {
    nb::gil_scoped_release release;
    const Bootstrap bootstrap(matrix.n_rows, n_draws, w);
    out_of_bag_smoothed(forest, matrix, chosen, bootstrap, seed, first_tree, smoothings, n_threads,
                        check_signals, votes, n_votes);
  });
  return nb::make_tuple(to_numpy(std::move(votes), {chosen.size(), smoothings.size(), n_classes}),
                        to_numpy(std::move(n_votes)));
}

Array<std::uint16_t> leading(const Votes& votes, const std::optional<Votes>& others,
                             int n_threads) {
  const std::size_t n_rows = votes.shape(0), n_settings = votes.shape(1),
                    n_classes = votes.shape(2);
  if (others && (others->shape(0) != n_rows || others->size() != votes.size()))
    throw std::invalid_argument("votes of other trees must be for the same rows and settings");
  if (n_settings == 0 || n_classes == 0) throw std::invalid_argument("there must be votes");
  std::vector<std::uint16_t> classes(n_settings * n_rows);
  {
    nb::gil_scoped_release release;
    leading_classes({votes.data(), votes.size()},
                    others ? std::span(others->data(), others->size()) : std::span<const float>(),
                    n_settings, n_classes, n_threads, check_signals, classes);
  }
  return to_numpy(std::move(classes), {n_settings, n_rows});
}

nb::tuple stop_trees(std::size_t n_classes, const NodeBytes& nodes,
                     const Vector<std::uint16_t>& labels, const AnyVector& counts,
                     const Starts& node_start, const Starts& entry_start, std::size_t min_rows,
                     int n_threads) {
  return to_python(
      with_forest(n_classes, nodes, labels, counts, node_start, entry_start, [&](auto forest) {
        nb::gil_scoped_release release;
        std::vector<Tree> trees(forest.n_trees());
        parallel_for(trees.size(), n_threads, check_signals,
                     [&](std::size_t t, const Poll& own_poll) {
                       trees[t] = stopped(tree_of(forest, t), min_rows);
                       own_poll();
                     });
        return Forest(std::move(trees), n_threads);
      }));
}

nb::tuple shrink_trees(std::size_t n_classes, const NodeBytes& nodes,
                       const Vector<std::uint16_t>& labels, const AnyVector& counts,
                       const Starts& node_start, const Starts& entry_start, double shrinkage,
                       int n_threads) {
  return to_python(
      with_forest(n_classes, nodes, labels, counts, node_start, entry_start, [&](auto forest) {
        nb::gil_scoped_release release;
        return shrunk(forest, shrinkage, n_threads, check_signals);
      }));
}

nb::dict expand_tree(std::size_t n_classes, const NodeBytes& nodes,
                     const Vector<std::uint16_t>& labels, const AnyVector& counts,
                     const Starts& node_start, const Starts& entry_start, std::size_t t,
                     double weight_unit, const std::string& criterion, double parameter,
                     const std::optional<TableArrays>& table, const nb::object& function,
                     const std::vector<int>& monotonic_cst) {
  const Tree tree = to_tree(n_classes, nodes, labels, counts, node_start, entry_start, t);
  const PythonCriterion own_criterion(criterion, parameter, table, function);
  ExpandedTree e = expand(tree, weight_unit, own_criterion.spec(), monotonic_cst);
  nb::dict out;
  out["left_child"] = to_numpy(std::move(e.left));
  out["right_child"] = to_numpy(std::move(e.right));
  out["feature"] = to_numpy(std::move(e.feature));
  out["threshold"] = to_numpy(std::move(e.threshold));
  out["impurity"] = to_numpy(std::move(e.impurity));
  out["n_node_samples"] = to_numpy(std::move(e.n_rows));
  out["weighted_n_node_samples"] = to_numpy(std::move(e.weight));
  out["missing_go_to_left"] = to_numpy(std::move(e.missing_left));
  out["value"] = to_numpy(std::move(e.value), {tree.nodes.size(), n_classes});
  out["gain"] = to_numpy(std::move(e.gain));
  out["max_depth"] = e.max_depth;
  return out;
}

nb::tuple path(std::size_t n_classes, const NodeBytes& nodes, const Vector<std::uint16_t>& labels,
               const AnyVector& counts, const Starts& node_start, const Starts& entry_start,
               std::size_t t, const Vector<double>& gain) {
  const Tree tree = to_tree(n_classes, nodes, labels, counts, node_start, entry_start, t);
  PruningPath p = pruning_path(tree, view(gain), std::numeric_limits<double>::infinity());
  return nb::make_tuple(to_numpy(std::move(p.alphas)), to_numpy(std::move(p.gains)));
}

nb::tuple prune(std::size_t n_classes, const NodeBytes& nodes, const Vector<std::uint16_t>& labels,
                const AnyVector& counts, const Starts& node_start, const Starts& entry_start,
                std::size_t t, const Vector<double>& gain, double alpha, bool all_classes) {
  const Tree tree = to_tree(n_classes, nodes, labels, counts, node_start, entry_start, t);
  std::vector<Tree> pruned(1);
  pruned[0] = collapse(tree, pruning_path(tree, view(gain), alpha).node, all_classes);
  return to_python(Forest(std::move(pruned)));
}

void validate_forest(std::size_t n_classes, const NodeBytes& nodes,
                     const Vector<std::uint16_t>& labels, const AnyVector& counts,
                     const Starts& node_start, const Starts& entry_start, std::size_t n_features,
                     int n_threads) {
  with_forest(n_classes, nodes, labels, counts, node_start, entry_start, [&](auto forest) {
    nb::gil_scoped_release release;
    validate(forest, n_features, n_threads, check_signals);
  });
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
  m.def("fit_trees", &fit, nb::kw_only(), "codes"_a, "labels"_a.noconvert(),
        "weights"_a.noconvert().none(), "n_classes"_a, "criterion"_a, "parameter"_a,
        "table"_a.none(), "function"_a.none(), "max_features"_a, "random_cuts"_a, "monotonic_cst"_a,
        "max_depth"_a, "min_rows_split"_a, "min_rows_leaf"_a, "min_weight_leaf"_a, "min_gain"_a,
        "max_leaves"_a, "first_tree"_a = 0, "n_trees"_a = 1, "n_draws"_a = 0,
        "balance_draws"_a = false, "seed"_a, "n_threads"_a = 1, "progress"_a.none() = nb::none());

  // Functions of a forest take its arrays as they come from fit_trees.
  auto of_forest = [&](const char* name, auto function, auto... extra) {
    m.def(name, function, "n_classes"_a, "nodes"_a.noconvert(), "entry_label"_a.noconvert(),
          "entry_count"_a.noconvert(), "node_start"_a.noconvert(), "entry_start"_a.noconvert(),
          extra...);
  };
  of_forest("apply", &apply_forest<float>, "X"_a.noconvert(), "n_threads"_a = 1);
  of_forest("apply", &apply_forest<double>, "X"_a.noconvert(), "n_threads"_a = 1);
  of_forest("predict_proba", &forest_proba<float>, "X"_a.noconvert(), "n_threads"_a = 1);
  of_forest("predict_proba", &forest_proba<double>, "X"_a.noconvert(), "n_threads"_a = 1);
  of_forest("oob_votes", &oob_votes<float>, "X"_a.noconvert(), "weights"_a.noconvert().none(),
            "n_draws"_a, "seed"_a, "n_threads"_a = 1);
  of_forest("oob_votes", &oob_votes<double>, "X"_a.noconvert(), "weights"_a.noconvert().none(),
            "n_draws"_a, "seed"_a, "n_threads"_a = 1);
  of_forest("oob_smoothed", &oob_smoothed<float>, "X"_a.noconvert(), "weights"_a.noconvert().none(),
            "n_draws"_a, "seed"_a, "first_tree"_a, "rows"_a.noconvert(), "stops"_a.noconvert(),
            "shrinkages"_a.noconvert(), "n_threads"_a = 1);
  of_forest("oob_smoothed", &oob_smoothed<double>, "X"_a.noconvert(),
            "weights"_a.noconvert().none(), "n_draws"_a, "seed"_a, "first_tree"_a,
            "rows"_a.noconvert(), "stops"_a.noconvert(), "shrinkages"_a.noconvert(),
            "n_threads"_a = 1);
  m.def("leading_classes", &leading, "votes"_a.noconvert(), "others"_a.noconvert().none(),
        "n_threads"_a = 1);
  of_forest("stop_trees", &stop_trees, "min_rows"_a, "n_threads"_a = 1);
  of_forest("shrink_trees", &shrink_trees, "shrinkage"_a, "n_threads"_a = 1);
  of_forest("expand", &expand_tree, "tree"_a, "weight_unit"_a, "criterion"_a, "parameter"_a,
            "table"_a.none(), "function"_a.none(), "monotonic_cst"_a);
  of_forest("pruning_path", &path, "tree"_a, "gain"_a);
  of_forest("prune", &prune, "tree"_a, "gain"_a, "alpha"_a, "all_classes"_a);
  of_forest("validate", &validate_forest, "n_features"_a, "n_threads"_a = 1);

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
