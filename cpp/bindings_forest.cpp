// Codes and forests: growing them, and all that is done with them.
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>

#include "bindings.hpp"
#include "bindings_handle.hpp"
#include "bindings_matrix.hpp"
#include "hardwood/expand.hpp"
#include "hardwood/fit.hpp"
#include "hardwood/forest.hpp"
#include "hardwood/label_likelihoods.hpp"
#include "hardwood/predict.hpp"
#include "hardwood/prune.hpp"
#include "hardwood/row_hashes.hpp"
#include "hardwood/smoothed_trees.hpp"
#include "hardwood/smoothed_votes.hpp"
#include "hardwood/validate.hpp"

namespace hardwood {
namespace {

using Votes = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Progress = std::function<void(std::size_t)>;

// Calls use(rows).
template <class Use>
void with_rows(const InputMatrix& X, const Use& use) {
  X.with_view([&]<template <class> class View, class T>(const View<T>& matrix) {
    using MatrixOf =
        std::conditional_t<std::is_same_v<View<T>, SparseView<T>>, SparseRows<T>, MatrixRows<T>>;
    use(MatrixOf(matrix));
  });
}

std::span<const double> checked_weights(const std::optional<Vector<double>>& weights,
                                        std::size_t n_rows) {
  if (!weights) return {};
  if (weights->shape(0) != n_rows)
    throw std::invalid_argument("weights must have as many entries as X has rows");
  return view(*weights);
}

// No groups: every row is drawn on its own.
std::span<const std::uint32_t> groups_of(const std::optional<Vector<std::uint32_t>>& groups) {
  return groups ? view(*groups) : std::span<const std::uint32_t>();
}

std::unique_ptr<Codes> code(const nb::object& X, int n_threads,
                            const std::vector<std::size_t>& category_columns) {
  const InputMatrix input(X);
  if (input.is_sparse() && !category_columns.empty())
    throw std::invalid_argument("columns of a sparse X cannot have categories");
  auto codes = std::make_unique<Codes>();
  input.with_view([&]<class View>(const View& matrix) {
    nb::gil_scoped_release release;
    if constexpr (requires { matrix.starts; })
      *codes = make_codes(matrix, n_threads, check_signals);
    else
      *codes = make_codes(matrix, n_threads, check_signals, category_columns);
  });
  return codes;
}

auto row_hashes(const nb::object& X, const std::vector<std::size_t>& starts, int n_threads) {
  const InputMatrix input(X);
  if (starts.empty() || starts.front() != 0 || starts.back() != input.n_columns() ||
      !std::is_sorted(starts.begin(), starts.end()))
    throw std::invalid_argument("blocks of columns must start at 0 and end with the last column");
  std::vector<std::uint64_t> hashes((starts.size() - 1) * input.n_rows());
  input.with_view([&](const auto& matrix) {
    nb::gil_scoped_release release;
    hash_rows(matrix, starts, n_threads, check_signals, hashes);
  });
  return to_numpy(std::move(hashes), starts.size() - 1, input.n_rows());
}

std::pair<ForestHandle*, double> fit(
    const Codes& codes, const Vector<std::uint16_t>& labels,
    const std::optional<Vector<double>>& weights, std::size_t n_classes,
    const PythonCriterion& criterion, std::size_t max_features, bool random_cuts,
    const std::vector<int>& monotonic_cst, std::size_t max_depth, std::size_t min_rows_split,
    std::size_t min_rows_leaf, double min_weight_leaf, double min_gain, std::size_t max_leaves,
    std::size_t first_tree, std::size_t n_trees, std::size_t n_draws, bool balance_draws,
    std::uint64_t seed, int n_threads, const std::optional<Progress>& progress,
    const std::optional<Vector<std::uint32_t>>& groups, double category_smoothing) {
  const FitOptions options{
      .grow = {.search = {max_features, random_cuts, monotonic_cst, category_smoothing},
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
                          n_classes, groups_of(groups)};
  std::atomic<std::size_t> n_done{0};
  auto poll = [&] {
    check_signals();
    if (!progress) return;
    nb::gil_scoped_acquire gil;
    (*progress)(n_done);
  };
  std::optional<Forest> forest;
  double weight_unit = 1;
  {
    nb::gil_scoped_release release;
    FittedTrees fitted = fit_trees(data, criterion.spec(), options, poll, n_done);
    weight_unit = fitted.weight_unit;
    forest.emplace(std::move(fitted.trees), n_threads);
  }
  return {ForestHandle::of(n_classes, std::move(*forest)), weight_unit};
}

// A pickled array can arrive anywhere in a message that other processes sent.
nb::object aligned(nb::object array) {
  if (!nb::hasattr(array, "ctypes")) return array;
  const auto address = nb::cast<std::uintptr_t>(array.attr("ctypes").attr("data"));
  return address % alignof(Node) == 0 ? array : nb::object(array.attr("copy")());
}

auto apply_forest(const ForestHandle& self, const nb::object& object, int n_threads) {
  const InputMatrix X(object);
  std::vector<std::int64_t> leaves(X.n_rows() * self.n_trees());
  with_rows(X, [&](const Rows& rows) {
    nb::gil_scoped_release release;
    apply(self.node_span(), self.node_start.view(), self.sets(), rows, n_threads, check_signals,
          leaves);
  });
  return to_numpy(std::move(leaves), X.n_rows(), self.n_trees());
}

auto forest_proba(const ForestHandle& self, const nb::object& object, int n_threads) {
  const InputMatrix X(object);
  std::vector<double> proba(X.n_rows() * self.n_classes, 0);
  with_rows(X, [&](const Rows& rows) {
    self.with_view([&](auto forest) {
      nb::gil_scoped_release release;
      predict_proba(forest, rows, n_threads, check_signals, proba);
    });
  });
  return to_numpy(std::move(proba), X.n_rows(), self.n_classes);
}

auto oob_votes(const ForestHandle& self, const nb::object& object,
               const std::optional<Vector<double>>& weights, std::size_t n_draws,
               std::uint64_t seed, int n_threads,
               const std::optional<Vector<std::uint32_t>>& groups) {
  const InputMatrix X(object);
  const auto w = checked_weights(weights, X.n_rows());
  std::vector<double> votes(X.n_rows() * self.n_classes, 0);
  std::vector<std::int64_t> n_votes(X.n_rows(), 0);
  with_rows(X, [&](const Rows& rows) {
    self.with_view([&](auto forest) {
      nb::gil_scoped_release release;
      const Bootstrap bootstrap(rows.size(), n_draws, w, groups_of(groups));
      out_of_bag_votes(forest, rows, bootstrap, seed, n_threads, check_signals, votes, n_votes);
    });
  });
  return std::pair(to_numpy(std::move(votes), X.n_rows(), self.n_classes),
                   to_numpy(std::move(n_votes)));
}

auto oob_smoothed(const ForestHandle& self, const nb::object& object,
                  const std::optional<Vector<double>>& weights, std::size_t n_draws,
                  std::uint64_t seed, std::size_t first_tree, const Vector<std::uint32_t>& rows,
                  const Vector<std::uint32_t>& stops, const Vector<double>& shrinkages,
                  int n_threads, const std::optional<Vector<std::uint32_t>>& groups) {
  const InputMatrix X(object);
  const auto w = checked_weights(weights, X.n_rows());
  const auto chosen = view(rows);
  if (std::any_of(chosen.begin(), chosen.end(), [&](auto row) { return row >= X.n_rows(); }))
    throw std::invalid_argument("rows must be among those of X");
  const Smoothings smoothings{view(stops), view(shrinkages)};
  Buffer<float> votes(chosen.size() * smoothings.size() * self.n_classes);
  std::vector<std::int64_t> n_votes(chosen.size());
  with_rows(X, [&](const Rows& all_rows) {
    self.with_view([&](auto forest) {
      nb::gil_scoped_release release;
      const Bootstrap bootstrap(all_rows.size(), n_draws, w, groups_of(groups));
      out_of_bag_smoothed(forest, all_rows, chosen, bootstrap, seed, first_tree, smoothings,
                          n_threads, check_signals, votes, n_votes);
    });
  });
  return std::pair(to_numpy(std::move(votes), chosen.size(), smoothings.size(), self.n_classes),
                   to_numpy(std::move(n_votes)));
}

auto draw(std::size_t n_rows, std::size_t n_draws, const std::optional<Vector<double>>& weights,
          const std::optional<Vector<std::uint32_t>>& groups, std::uint64_t seed,
          std::size_t tree) {
  const Bootstrap bootstrap(n_rows, n_draws, checked_weights(weights, n_rows), groups_of(groups));
  return to_numpy(bootstrap.draw(seed, tree));
}

auto leading(const Votes& votes, const std::optional<Votes>& others, int n_threads) {
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
  return to_numpy(std::move(classes), n_settings, n_rows);
}

auto likelihoods(const Votes& votes, const Vector<std::int64_t>& n_votes,
                 const Vector<std::uint16_t>& labels, const Vector<double>& weights,
                 const Vector<double>& exponents, const Vector<double>& mixed_in, double even,
                 int n_threads) {
  const std::size_t n_rows = votes.shape(0), n_settings = votes.shape(1),
                    n_classes = votes.shape(2);
  if (n_votes.size() != n_rows || labels.size() != n_rows || weights.size() != n_rows)
    throw std::invalid_argument(
        "there must be a label, a weight and a number of votes for each row");
  const auto of_rows = view(labels);
  if (std::any_of(of_rows.begin(), of_rows.end(), [&](auto label) { return label >= n_classes; }))
    throw std::invalid_argument("labels must be among the classes");
  std::vector<double> out(n_settings * exponents.size() * mixed_in.size());
  {
    nb::gil_scoped_release release;
    label_likelihoods({{votes.data(), votes.size()},
                       view(n_votes),
                       of_rows,
                       view(weights),
                       n_settings,
                       n_classes},
                      {view(exponents), view(mixed_in), even}, n_threads, check_signals, out);
  }
  return to_numpy(std::move(out), n_settings, exponents.size(), mixed_in.size());
}

ForestHandle* stop_trees(const ForestHandle& self, std::size_t min_rows, int n_threads) {
  return ForestHandle::of(self.n_classes, self.with_view([&](auto forest) {
    nb::gil_scoped_release release;
    std::vector<Tree> trees(forest.n_trees());
    parallel_for(trees.size(), n_threads, check_signals, [&](std::size_t t, const Poll& own_poll) {
      trees[t] = stopped(tree_of(forest, t), min_rows);
      own_poll();
    });
    return Forest(std::move(trees), n_threads);
  }));
}

ForestHandle* shrink_trees(const ForestHandle& self, const Vector<double>& shrinkages,
                           int n_threads) {
  if (shrinkages.size() != self.n_trees())
    throw std::invalid_argument("there must be a shrinkage for each tree");
  return ForestHandle::of(self.n_classes, self.with_view([&](auto forest) {
    nb::gil_scoped_release release;
    return shrunk(forest, view(shrinkages), n_threads, check_signals);
  }));
}

nb::typed<nb::dict, nb::str, nb::object> expand_tree(const ForestHandle& self, std::size_t t,
                                                     double weight_unit,
                                                     const PythonCriterion& criterion,
                                                     const std::vector<int>& monotonic_cst,
                                                     bool optimal) {
  const Tree tree = self.tree(t);
  ExpandedTree e = expand(tree, weight_unit, criterion.spec(), monotonic_cst, optimal);
  nb::dict out;
  out["left_child"] = to_numpy(std::move(e.left));
  out["right_child"] = to_numpy(std::move(e.right));
  out["feature"] = to_numpy(std::move(e.feature));
  out["threshold"] = to_numpy(std::move(e.threshold));
  out["impurity"] = to_numpy(std::move(e.impurity));
  out["n_node_samples"] = to_numpy(std::move(e.n_rows));
  out["weighted_n_node_samples"] = to_numpy(std::move(e.weight));
  out["missing_go_to_left"] = to_numpy(std::move(e.missing_left));
  out["value"] = to_numpy(std::move(e.value), tree.nodes.size(), self.n_classes);
  out["gain"] = to_numpy(std::move(e.gain));
  out["max_depth"] = e.max_depth;
  return nb::borrow<nb::typed<nb::dict, nb::str, nb::object>>(out);
}

// What the leaves' entries predict optimally, up to a factor for each leaf.
Array<double> optimal_counts(const ForestHandle& self, const PythonCriterion& criterion) {
  const auto of = make_criterion(criterion.spec(), {self.n_classes, 0, 1, false});
  std::vector<double> counts = self.with_view([](auto forest) {
    return std::vector<double>(forest.entry_count.begin(), forest.entry_count.end());
  });
  double* next = counts.data();
  for (const Node& node : self.node_span()) {
    if (!node.is_leaf()) continue;
    of->predict_optimally({next, node.n_entries()});
    next += node.n_entries();
  }
  return to_numpy(std::move(counts));
}

std::pair<Array<double>, Array<double>> path(const ForestHandle& self, std::size_t t,
                                             const Vector<double>& gain) {
  PruningPath p = pruning_path(self.tree(t), view(gain), std::numeric_limits<double>::infinity());
  return {to_numpy(std::move(p.alphas)), to_numpy(std::move(p.gains))};
}

ForestHandle* prune(const ForestHandle& self, std::size_t t, const Vector<double>& gain,
                    double alpha, bool all_classes) {
  const Tree tree = self.tree(t);
  std::vector<Tree> pruned(1);
  pruned[0] = collapse(tree, pruning_path(tree, view(gain), alpha).node, all_classes);
  return ForestHandle::of(self.n_classes, Forest(std::move(pruned)));
}

void validate_forest(const ForestHandle& self, std::size_t n_features, int n_threads,
                     const CategoryNumbers& n_categories) {
  self.with_view([&](auto forest) {
    nb::gil_scoped_release release;
    validate(forest, n_features, n_categories, n_threads, check_signals);
  });
}

}  // namespace

void bind_forest(nb::module_& m) {
  nb::class_<Codes>(m, "Codes")
      .def_prop_ro("n_rows", [](const Codes& c) { return c.n_rows; })
      .def_prop_ro("n_columns", &Codes::n_columns)
      .def_prop_ro("n_codes", [](const Codes& c) {
        std::vector<std::uint32_t> n_codes;
        for (const auto& column : c.columns) n_codes.push_back(column.n_codes);
        return to_numpy(std::move(n_codes));
      });
  const std::vector<std::size_t> no_columns;
  m.def("code", &code, "X"_a, "n_threads"_a = 1, "category_columns"_a = no_columns);
  m.def("row_hashes", &row_hashes, "X"_a, "starts"_a, "n_threads"_a = 1);

  nb::class_<ForestHandle>(m, "Forest")
      .def(nb::init<std::size_t, nb::object, nb::object, nb::object, nb::object, nb::object,
                    nb::object, nb::object>(),
           "n_classes"_a, "nodes"_a, "entry_label"_a, "entry_count"_a, "node_start"_a,
           "entry_start"_a, "set_words"_a.none() = nb::none(), "set_start"_a.none() = nb::none())
      .def("__len__", &ForestHandle::n_trees)
      .def("__getstate__", &ForestHandle::state)
      .def("__setstate__",
           [](ForestHandle& self, const nb::tuple& state) {
             auto part = [&](std::size_t i) -> nb::object {
               return i < state.size() ? aligned(state[i]) : nb::none();
             };
             new (&self) ForestHandle(nb::cast<std::size_t>(part(0)), part(1), part(2), part(3),
                                      part(4), part(5), part(6), part(7));
           })
      .def_ro("n_classes", &ForestHandle::n_classes)
      .def_prop_ro("nodes", &ForestHandle::array_of<&ForestHandle::nodes>,
                   nb::for_getter(nb::sig("def nodes(self, /) -> NDArray[numpy.uint8]")))
      .def_prop_ro("entry_label", &ForestHandle::array_of<&ForestHandle::entry_label>,
                   nb::for_getter(nb::sig("def entry_label(self, /) -> NDArray[numpy.uint16]")))
      .def_prop_ro("entry_count", &ForestHandle::array_of<&ForestHandle::entry_count>,
                   nb::for_getter(nb::sig("def entry_count(self, /) -> NDArray[numpy.generic]")))
      .def_prop_ro("node_start", &ForestHandle::array_of<&ForestHandle::node_start>,
                   nb::for_getter(nb::sig("def node_start(self, /) -> NDArray[numpy.int64]")))
      .def_prop_ro("entry_start", &ForestHandle::array_of<&ForestHandle::entry_start>,
                   nb::for_getter(nb::sig("def entry_start(self, /) -> NDArray[numpy.int64]")))
      .def_prop_ro("set_words", &ForestHandle::array_of<&ForestHandle::set_words>,
                   nb::for_getter(nb::sig("def set_words(self, /) -> NDArray[numpy.uint32]")))
      .def_prop_ro("set_start", &ForestHandle::array_of<&ForestHandle::set_start>,
                   nb::for_getter(nb::sig("def set_start(self, /) -> NDArray[numpy.int64]")))
      .def("apply", &apply_forest, "X"_a, "n_threads"_a = 1)
      .def("predict_proba", &forest_proba, "X"_a, "n_threads"_a = 1)
      .def("oob_votes", &oob_votes, "X"_a, "weights"_a.noconvert().none(), "n_draws"_a, "seed"_a,
           "n_threads"_a = 1, "groups"_a.noconvert().none() = nb::none())
      .def("oob_smoothed", &oob_smoothed, "X"_a, "weights"_a.noconvert().none(), "n_draws"_a,
           "seed"_a, "first_tree"_a, "rows"_a.noconvert(), "stops"_a.noconvert(),
           "shrinkages"_a.noconvert(), "n_threads"_a = 1,
           "groups"_a.noconvert().none() = nb::none())
      .def("stopped", &stop_trees, "min_rows"_a, "n_threads"_a = 1)
      .def("shrunk", &shrink_trees, "shrinkages"_a.noconvert(), "n_threads"_a = 1)
      .def("expand", &expand_tree, "tree"_a, "weight_unit"_a, "criterion"_a, "monotonic_cst"_a,
           "optimal"_a = false)
      .def("optimal_counts", &optimal_counts, "criterion"_a)
      .def("pruning_path", &path, "tree"_a, "gain"_a)
      .def("pruned", &prune, "tree"_a, "gain"_a, "alpha"_a, "all_classes"_a)
      .def("validate", &validate_forest, "n_features"_a, "n_threads"_a = 1,
           "n_categories"_a = CategoryNumbers());
  m.def("fit_trees", &fit, nb::kw_only(), "codes"_a, "labels"_a.noconvert(),
        "weights"_a.noconvert().none(), "n_classes"_a, "criterion"_a, "max_features"_a,
        "random_cuts"_a, "monotonic_cst"_a, "max_depth"_a, "min_rows_split"_a, "min_rows_leaf"_a,
        "min_weight_leaf"_a, "min_gain"_a, "max_leaves"_a, "first_tree"_a = 0, "n_trees"_a = 1,
        "n_draws"_a = 0, "balance_draws"_a = false, "seed"_a, "n_threads"_a = 1,
        "progress"_a.none() = nb::none(), "groups"_a.noconvert().none() = nb::none(),
        "category_smoothing"_a = 0.0);
  m.def("draw", &draw, "n_rows"_a, "n_draws"_a, "weights"_a.noconvert().none(),
        "groups"_a.noconvert().none(), "seed"_a, "tree"_a,
        "How often each row is drawn for a tree.");
  m.def("seed_of_tree", &seed_of_tree, "seed"_a, "tree"_a,
        "The seed whose tree 0 grows from the same random numbers.");
  m.def("leading_classes", &leading, "votes"_a.noconvert(), "others"_a.noconvert().none(),
        "n_threads"_a = 1);
  m.def("label_likelihoods", &likelihoods, "votes"_a.noconvert(), "n_votes"_a.noconvert(),
        "labels"_a.noconvert(), "weights"_a.noconvert(), "exponents"_a.noconvert(),
        "mixed_in"_a.noconvert(), "even"_a, "n_threads"_a = 1);
}

}  // namespace hardwood
