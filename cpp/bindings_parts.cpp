// What a fit needs whose rows lie on several machines: tables, draws of ranges, and trunks.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <tuple>

#include "bindings.hpp"
#include "bindings_handle.hpp"
#include "hardwood/bootstrap.hpp"
#include "hardwood/coded_rows.hpp"
#include "hardwood/fit.hpp"
#include "hardwood/grower.hpp"
#include "hardwood/trunk.hpp"

namespace hardwood {
namespace {

// low, high, whether values are missing, whether they are categories
using Table = std::tuple<Vector<double>, Vector<double>, bool, bool>;

Column column_of(const Table& table) {
  const auto low = view(std::get<0>(table)), high = view(std::get<1>(table));
  if (low.size() != high.size() || low.size() > kMaxCodes)
    throw std::invalid_argument("a table must have as many low as high values, at most 65535");
  Column column;
  column.n_codes = static_cast<std::uint32_t>(low.size());
  column.low.assign(low.begin(), low.end());
  column.high.assign(high.begin(), high.end());
  column.has_missing = std::get<2>(table);
  column.is_category = std::get<3>(table);
  column.wide = column.n_codes > kMaxNarrowCodes;
  return column;
}

CodedColumn coded_column(const nb::object& array, bool wide, std::size_t n_rows) {
  CodedColumn column;
  std::size_t size = 0;
  if (wide) {
    const auto codes = nb::cast<Vector<std::uint16_t>>(array, false);
    column.wide = codes.data();
    size = codes.shape(0);
  } else {
    const auto codes = nb::cast<Vector<std::uint8_t>>(array, false);
    column.narrow = codes.data();
    size = codes.shape(0);
  }
  if (size != n_rows) throw std::invalid_argument("columns must have as many codes as rows");
  return column;
}

std::unique_ptr<Codes> join(const std::vector<Table>& tables, const std::vector<nb::object>& arrays,
                            std::size_t n_rows, int n_threads) {
  if (tables.size() != arrays.size())
    throw std::invalid_argument("every column must have a table and codes");
  std::vector<Column> columns;
  ColumnRoom room(tables.size() * ColumnRoom::rounded(2 * n_rows + 1));
  for (std::size_t f = 0; f < tables.size(); ++f) {
    columns.push_back(column_of(tables[f]));
    Column& column = columns.back();
    const CodedColumn coded = coded_column(arrays[f], column.wide, n_rows);
    const std::size_t n_bytes = n_rows * (column.wide ? 2 : 1);
    column.bytes = room.take(n_bytes + 1);
    const void* from = column.wide ? static_cast<const void*>(coded.wide) : coded.narrow;
    if (n_bytes > 0) std::memcpy(column.bytes.get(), from, n_bytes);
  }
  auto codes = std::make_unique<Codes>();
  {
    nb::gil_scoped_release release;
    *codes = join_columns(std::move(columns), n_rows, n_threads, check_signals);
  }
  return codes;
}

template <class T>
auto table_of(const Vector<T>& values, const Vector<std::int64_t>& n_rows, std::size_t number) {
  Column column = make_table(view(values), view(n_rows), number);
  return std::pair(to_numpy(std::move(column.low)), to_numpy(std::move(column.high)));
}

auto draw_weights(const Vector<double>& weights, double largest) {
  std::vector<std::uint32_t> out;
  for (const double weight : view(weights)) out.push_back(draw_weight(weight, largest));
  return to_numpy(std::move(out));
}

// How often the units from first to last are drawn. Weighted draws need the weights of all blocks,
// and those of the units from the start of the first block on.
auto draw_range(std::size_t n_units, std::size_t n_draws, std::uint64_t seed, std::size_t tree,
                std::size_t first, std::size_t last,
                const std::optional<Vector<std::uint64_t>>& block_weights,
                const std::optional<Vector<std::uint32_t>>& unit_weights) {
  if (first > last || last > n_units) throw std::invalid_argument("there are no such units");
  const std::uint64_t key = draw_key(seed, tree);
  if (!block_weights || !unit_weights)
    return to_numpy(UnitDraws(n_units, n_draws).draw(key, first, last));
  const std::size_t begin = first / kDrawBlock * kDrawBlock;
  const std::size_t end = std::min(n_units, (last + kDrawBlock - 1) / kDrawBlock * kDrawBlock);
  if (block_weights->shape(0) != (n_units + kDrawBlock - 1) / kDrawBlock ||
      (first < last && unit_weights->shape(0) != end - begin))
    throw std::invalid_argument("there must be a weight for each block, and for each of its units");
  return to_numpy(UnitDraws(n_units, n_draws, view(*block_weights), view(*unit_weights), begin)
                      .draw(key, first, last));
}

// How trees grow, as fit_trees takes it, for whole weights.
GrowOptions options_of(std::size_t max_features, bool random_cuts,
                       const std::vector<int>& monotonic_cst, std::size_t max_depth,
                       std::size_t min_rows_split, std::size_t min_rows_leaf,
                       double min_weight_leaf, double min_gain, double category_smoothing) {
  GrowOptions options{
      .search = {max_features, random_cuts, monotonic_cst, category_smoothing},
      .max_depth = max_depth,
      .min_rows_split = min_rows_split,
      .min_rows_leaf = min_rows_leaf,
      .min_weight_leaf = min_weight_leaf,
      .min_gain = min_gain,
  };
  return options;
}

// depth, n_constant, bounds, key, counts
using NodeState =
    std::tuple<std::size_t, std::size_t, double, double, std::uint64_t, std::vector<double>>;

Task task_of(const NodeState& state) {
  const auto& [depth, n_constant, low, high, key, counts] = state;
  return {.depth = depth,
          .n_constant = n_constant,
          .bounds = {low, high},
          .key = key,
          .counts = counts};
}

NodeState state_of(const Task& task) {
  return {task.depth, task.n_constant, task.bounds.low, task.bounds.high, task.key, task.counts};
}

// A trunk with what it refers to.
class TrunkHandle {
 public:
  TrunkHandle(const std::vector<Table>& tables, const PythonCriterion& criterion,
              const GrowOptions& options, std::size_t n_classes, double largest_total,
              bool unit_weights, std::size_t subtree_rows, std::size_t n_rows,
              const Vector<double>& counts, std::uint64_t seed, std::size_t tree) {
    for (const Table& table : tables) codes_.columns.push_back(column_of(table));
    codes_.fields.resize(tables.size());
    for (std::size_t f = 0; f < tables.size(); ++f) {
      codes_.fields[f].has_missing = codes_.columns[f].has_missing;
      codes_.fields[f].is_category = codes_.columns[f].is_category;
    }
    if (counts.shape(0) != n_classes)
      throw std::invalid_argument("there must be a count for each class");
    Task root{.begin = 0, .end = n_rows, .key = root_key(seed, tree)};
    root.counts.assign(counts.data(), counts.data() + n_classes);
    trunk_ = std::make_unique<Trunk>(
        codes_, criterion.spec(), options, FitContext{n_classes, largest_total, 1}, unit_weights,
        std::max(subtree_rows, Grower<WholeSample>::kSubtreeRows), std::move(root));
  }

  auto requests() const {
    std::vector<std::tuple<std::size_t, std::vector<std::uint32_t>, std::vector<bool>>> out;
    for (auto& request : trunk_->requests())
      out.emplace_back(request.node, request.features, request.as_histogram);
    return out;
  }

  // Of each feature: weights and rows by code, or codes, labels and weights of the rows.
  void answer(std::size_t node, const std::vector<nb::tuple>& counts) {
    std::vector<Vector<std::uint32_t>> wide;
    std::vector<Vector<std::uint16_t>> narrow;
    std::vector<FeatureCounts> all;
    for (const nb::tuple& of_feature : counts) {
      FeatureCounts one;
      if (of_feature.size() == 2) {
        for (std::size_t i = 0; i < 2; ++i)
          wide.push_back(nb::cast<Vector<std::uint32_t>>(of_feature[i], false));
        one.weights = view(wide[wide.size() - 2]);
        one.rows = view(wide.back());
      } else {
        for (std::size_t i = 0; i < 3; ++i)
          narrow.push_back(nb::cast<Vector<std::uint16_t>>(of_feature[i], false));
        one.codes = view(narrow[narrow.size() - 3]);
        one.labels = view(narrow[narrow.size() - 2]);
        one.row_weights = view(narrow.back());
      }
      all.push_back(one);
    }
    nb::gil_scoped_release release;
    trunk_->answer(node, all);
  }

  auto routes() const {
    std::vector<std::int32_t> feature, left, right;
    std::vector<std::uint32_t> last_left, missing_left;
    std::vector<std::int64_t> set_start{0};
    std::vector<std::uint16_t> set_codes;
    for (const Route& route : trunk_->routes()) {
      feature.push_back(route.feature);
      last_left.push_back(route.last_left);
      missing_left.push_back(route.missing_left);
      left.push_back(route.left);
      right.push_back(route.right);
      set_codes.insert(set_codes.end(), route.left_codes.begin(), route.left_codes.end());
      set_start.push_back(std::ssize(set_codes));
    }
    return nb::make_tuple(to_numpy(std::move(feature)), to_numpy(std::move(last_left)),
                          to_numpy(std::move(missing_left)), to_numpy(std::move(left)),
                          to_numpy(std::move(right)), to_numpy(std::move(set_start)),
                          to_numpy(std::move(set_codes)));
  }

  // node, number of rows, state, features
  auto subtrees() const {
    std::vector<std::tuple<std::size_t, std::size_t, NodeState, std::vector<std::uint32_t>>> out;
    for (const auto& [node, task, features] : trunk_->subtrees())
      out.emplace_back(node, task.n_rows(), state_of(task),
                       std::vector<std::uint32_t>(features.begin(), features.end()));
    return out;
  }

  ForestHandle* assemble(const std::vector<const ForestHandle*>& grown) const {
    std::vector<Tree> trees;
    for (const ForestHandle* forest : grown) trees.push_back(forest->tree(0));
    std::vector<Tree> one(1);
    one[0] = trunk_->assemble(trees);
    const std::size_t n_classes = one[0].n_classes;
    return ForestHandle::of(n_classes, Forest(std::move(one)));
  }

 private:
  Codes codes_;
  std::unique_ptr<Trunk> trunk_;
};

std::vector<Route> routes_of(const nb::tuple& arrays) {
  const auto feature = nb::cast<Vector<std::int32_t>>(arrays[0]);
  const auto last_left = nb::cast<Vector<std::uint32_t>>(arrays[1]);
  const auto missing_left = nb::cast<Vector<std::uint32_t>>(arrays[2]);
  const auto left = nb::cast<Vector<std::int32_t>>(arrays[3]);
  const auto right = nb::cast<Vector<std::int32_t>>(arrays[4]);
  const auto set_start = nb::cast<Vector<std::int64_t>>(arrays[5]);
  const auto set_codes = nb::cast<Vector<std::uint16_t>>(arrays[6]);
  std::vector<Route> routes(feature.shape(0));
  for (std::size_t i = 0; i < routes.size(); ++i)
    routes[i] = {
        feature(i),      last_left(i),
        missing_left(i), left(i),
        right(i),        {set_codes.data() + set_start(i), set_codes.data() + set_start(i + 1)}};
  return routes;
}

auto route(const std::vector<nb::object>& arrays, const std::vector<bool>& wide,
           const Vector<std::uint32_t>& times, const nb::tuple& routes) {
  std::vector<CodedColumn> columns;
  for (std::size_t f = 0; f < arrays.size(); ++f)
    columns.push_back(coded_column(arrays[f], wide[f], times.shape(0)));
  const auto all = routes_of(routes);
  std::vector<std::int32_t> nodes;
  {
    nb::gil_scoped_release release;
    nodes = route_rows(columns, view(times), all);
  }
  return to_numpy(std::move(nodes));
}

auto count(const nb::object& codes, bool wide, std::size_t n_codes,
           const Vector<std::uint16_t>& labels, std::size_t n_classes,
           const Vector<std::uint32_t>& times, const Vector<std::uint32_t>& rows) {
  const CodedColumn column = coded_column(codes, wide, times.shape(0));
  CodeHistogram histogram;
  {
    nb::gil_scoped_release release;
    histogram = count_codes(column, n_codes, view(labels), n_classes, view(times), view(rows));
  }
  return std::pair(to_numpy(std::move(histogram.weights)), to_numpy(std::move(histogram.rows)));
}

ForestHandle* subtree(const Codes& codes, const Vector<std::uint16_t>& labels,
                      const Vector<std::uint32_t>& times, const PythonCriterion& criterion,
                      const GrowOptions& options, std::size_t n_classes, double largest_total,
                      bool unit_weights, double total_weight, const NodeState& state,
                      const Vector<std::uint32_t>& features) {
  if (labels.shape(0) != codes.n_rows || times.shape(0) != codes.n_rows)
    throw std::invalid_argument("labels and times must have as many entries as there are rows");
  std::vector<WholeSample> samples;
  samples.reserve(codes.n_rows);
  for (std::uint32_t i = 0; i < codes.n_rows; ++i) {
    if (labels(i) >= n_classes) throw std::invalid_argument("labels must be below n_classes");
    samples.push_back({i, labels(i), static_cast<std::uint16_t>(times(i))});
  }
  std::vector<Tree> trees(1);
  {
    nb::gil_scoped_release release;
    trees[0] = grow_subtree(codes, std::move(samples), criterion.spec(), options,
                            {n_classes, largest_total, 1}, unit_weights, total_weight,
                            task_of(state), view(features), check_signals);
  }
  return ForestHandle::of(n_classes, Forest(std::move(trees)));
}

}  // namespace

void bind_parts(nb::module_& m) {
  m.attr("DRAW_BLOCK") = kDrawBlock;
  m.def("join_codes", &join, "tables"_a, "columns"_a, "n_rows"_a, "n_threads"_a = 1,
        "Codes from tables and coded columns.");
  m.def("code_table", &table_of<double>, "values"_a.noconvert(), "n_rows"_a.noconvert(), "number"_a,
        "The smallest and largest value of each code, from a column's distinct values.");
  m.def("code_table", &table_of<std::int64_t>, "values"_a.noconvert(), "n_rows"_a.noconvert(),
        "number"_a);
  m.def("code_table", &table_of<std::uint64_t>, "values"_a.noconvert(), "n_rows"_a.noconvert(),
        "number"_a);
  m.def("draw_weights", &draw_weights, "weights"_a.noconvert(), "largest"_a,
        "The whole numbers that rows are drawn in proportion to.");
  m.def("draw_range", &draw_range, "n_units"_a, "n_draws"_a, "seed"_a, "tree"_a, "first"_a,
        "last"_a, "block_weights"_a.noconvert().none() = nb::none(),
        "unit_weights"_a.noconvert().none() = nb::none(),
        "How often the units from first to last are drawn for a tree.");
  nb::class_<GrowOptions>(m, "GrowOptions")
      .def(
          "__init__",
          [](GrowOptions* self, std::size_t max_features, bool random_cuts,
             const std::vector<int>& monotonic_cst, std::size_t max_depth,
             std::size_t min_rows_split, std::size_t min_rows_leaf, double min_weight_leaf,
             double min_gain, double category_smoothing) {
            new (self) GrowOptions(options_of(max_features, random_cuts, monotonic_cst, max_depth,
                                              min_rows_split, min_rows_leaf, min_weight_leaf,
                                              min_gain, category_smoothing));
          },
          nb::kw_only(), "max_features"_a, "random_cuts"_a, "monotonic_cst"_a, "max_depth"_a,
          "min_rows_split"_a, "min_rows_leaf"_a, "min_weight_leaf"_a, "min_gain"_a,
          "category_smoothing"_a);
  nb::class_<TrunkHandle>(m, "Trunk")
      .def(nb::init<const std::vector<Table>&, const PythonCriterion&, const GrowOptions&,
                    std::size_t, double, bool, std::size_t, std::size_t, const Vector<double>&,
                    std::uint64_t, std::size_t>(),
           nb::kw_only(), "tables"_a, "criterion"_a, "options"_a, "n_classes"_a, "largest_total"_a,
           "unit_weights"_a, "subtree_rows"_a, "n_rows"_a, "counts"_a, "seed"_a, "tree"_a,
           nb::keep_alive<1, 3>())
      .def("requests", &TrunkHandle::requests)
      .def("answer", &TrunkHandle::answer, "node"_a, "counts"_a)
      .def("routes", &TrunkHandle::routes)
      .def("subtrees", &TrunkHandle::subtrees)
      .def("assemble", &TrunkHandle::assemble, "grown"_a);
  m.def("route_rows", &route, "columns"_a, "wide"_a, "times"_a.noconvert(), "routes"_a,
        "The node of the trunk in which each row ends up that is drawn; -1 for others.");
  m.def("count_codes", &count, "codes"_a, "wide"_a, "n_codes"_a, "labels"_a.noconvert(),
        "n_classes"_a, "times"_a.noconvert(), "rows"_a.noconvert(),
        "A class histogram over the codes of some rows, and the number of rows of each code.");
  m.def("grow_subtree", &subtree, nb::kw_only(), "codes"_a, "labels"_a.noconvert(),
        "times"_a.noconvert(), "criterion"_a, "options"_a, "n_classes"_a, "largest_total"_a,
        "unit_weights"_a, "total_weight"_a, "state"_a, "features"_a,
        "Grow the tree below a node of a trunk.");
}

}  // namespace hardwood
