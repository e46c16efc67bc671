#include "use_arrays.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>

#include "hardwood/criteria.hpp"
#include "hardwood/expand.hpp"
#include "hardwood/predict.hpp"

namespace hardwood::fuzz {
namespace {

constexpr std::size_t kRows = 12;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// An array of exactly its size, so that the address sanitizer sees a read beyond it.
template <class T>
class Exact {
 public:
  template <class From>
  explicit Exact(const std::vector<From>& from)
      : size_(from.size()), data_(std::make_unique_for_overwrite<T[]>(from.size())) {
    for (std::size_t i = 0; i < size_; ++i) data_[i] = convert(from[i]);
  }
  std::span<const T> span() const { return {data_.get(), size_}; }

 private:
  template <class From>
  static T convert(const From& value) {
    if constexpr (std::is_integral_v<T> && std::is_floating_point_v<From>)
      return value >= 0 && value <= std::numeric_limits<T>::max() ? static_cast<T>(value) : T{0};
    else
      return value;
  }

  std::size_t size_;
  std::unique_ptr<T[]> data_;
};

// Values around all that a node may compare with: numbers, categories, and none.
std::vector<double> some_rows(std::size_t n_features) {
  constexpr std::array values{0.0, -1.0, 0.5, 3.0, 39.0, 64.0, 5.5, 1e9, 1e308, 65534.0, 65535.0};
  std::vector<double> rows(kRows * n_features);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = i % 5 == 0 ? std::numeric_limits<double>::quiet_NaN() : values[i % values.size()];
  return rows;
}

template <class Count>
void predict_with(const ForestView<Count>& forest, std::size_t n_features) {
  const std::vector<double> values = some_rows(n_features);
  const MatrixRows<double> rows(MatrixView<double>{values.data(), kRows, n_features,
                                                   static_cast<std::ptrdiff_t>(n_features), 1});
  std::vector<std::int64_t> leaves(kRows * forest.n_trees());
  apply(forest.nodes, forest.node_start, forest.sets, rows, 1, {}, leaves);
  for (std::size_t i = 0; i < leaves.size(); ++i)
    require(forest.tree(i % forest.n_trees())[leaves[i]].is_leaf(), "a row must end in a leaf");
  std::vector<double> proba(kRows * forest.n_classes, 0);
  predict_proba(forest, rows, 1, {}, proba);
  for (std::size_t i = 0; i < kRows; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < forest.n_classes; ++k) {
      const double p = proba[i * forest.n_classes + k];
      require(p >= 0 && p <= 1 + 1e-9, "a probability must be from 0 to 1");
      sum += p;
    }
    require(std::abs(sum - 1) < 1e-6, "probabilities must sum to 1");
  }
}

template <class Count>
void expand_with(const ForestView<Count>& forest, std::size_t n_features, std::size_t choice) {
  const auto criteria = list_criteria();
  const auto& [record, has_optimal_leaf] = criteria[choice % criteria.size()];
  if (record.class_name.empty() || (record.two_classes_only && forest.n_classes != 2)) return;
  CriterionSpec spec{record.name};
  for (const auto& parameter : record.parameters)
    spec.parameters.push_back(parameter.default_value);
  for (std::size_t t = 0; t < forest.n_trees(); ++t) {
    const Tree tree = tree_of(forest, t);
    const std::size_t n_leaves = (tree.nodes.size() + 1) / 2;
    const bool may_be_monotonic =
        forest.n_classes == 2 && tree.entry_label.size() == 2 * n_leaves && choice % 2 == 0;
    const std::vector<int> monotonic_cst(may_be_monotonic ? n_features : 0, 1);
    const ExpandedTree expanded =
        expand(tree, 0.5, spec, monotonic_cst, has_optimal_leaf && choice % 3 == 0);
    require(expanded.left.size() == tree.nodes.size(), "every node must be expanded");
  }
}

template <class Count>
bool use_with(const StoredArrays& arrays) {
  const Exact<Node> nodes(arrays.nodes);
  const Exact<std::uint16_t> labels(arrays.labels);
  const Exact<Count> counts(arrays.counts);
  const Exact<std::int64_t> node_start(arrays.node_start), entry_start(arrays.entry_start);
  const Exact<std::uint32_t> words(arrays.words);
  const Exact<std::int64_t> set_start(arrays.set_start);
  const ForestView<Count> forest{arrays.n_classes(),
                                 nodes.span(),
                                 labels.span(),
                                 counts.span(),
                                 node_start.span(),
                                 entry_start.span(),
                                 {words.span(), set_start.span()}};
  try {
    const int n_threads = arrays.sizes.count_kind % 16 == 9 ? 2 : 1;
    validate(forest, arrays.n_features(), arrays.n_categories(), n_threads, {});
  } catch (const std::invalid_argument&) {
    return false;
  }
  predict_with(forest, arrays.n_features());
  expand_with(forest, arrays.n_features(), arrays.sizes.count_kind / 3);
  return true;
}

}  // namespace

bool use(const StoredArrays& arrays) {
  switch (arrays.sizes.count_kind % 3) {
    case 0:
      return use_with<double>(arrays);
    case 1:
      return use_with<std::uint32_t>(arrays);
    default:
      return use_with<std::uint16_t>(arrays);
  }
}

}  // namespace hardwood::fuzz
