// The trunk of a tree whose rows lie on several machines.
//
// Nodes with more rows than one machine takes are split by class counts over codes, which somebody
// else sums over the machines: the trunk says which features of which nodes it wants to see
// (`requests`), takes the sums in (`answer`), and tells where rows go (`routes`). Nodes with fewer
// rows become subtrees, which a machine that is sent their rows grows. Searches, random streams and
// arithmetic are those of the grower, so the tree is the same, bit for bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hardwood/any_criterion.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/feature_cut.hpp"
#include "hardwood/feature_order.hpp"
#include "hardwood/node_split.hpp"
#include "hardwood/rng.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

// What is known of a node's rows in one feature: a histogram, or the rows themselves, in their
// order.
struct FeatureCounts {
  std::span<const std::uint32_t> weights{};  // [code][class], and the rows of each code
  std::span<const std::uint32_t> rows{};
  std::span<const std::uint16_t> codes{}, labels{}, row_weights{};  // or of every row

  bool is_histogram() const { return !rows.empty(); }
};

// Where the rows of a node go.
struct Route {
  std::int32_t feature = -1;  // -1: they stay
  std::uint32_t last_left = 0;
  std::uint32_t missing_left = kNobody;  // the code of missing values, if they go left
  std::int32_t left = -1, right = -1;
  std::vector<std::uint16_t> left_codes;  // of a set
};

class Trunk {
 public:
  // The codes have tables, but no rows.
  Trunk(const Codes& codes, const CriterionSpec& spec, const GrowOptions& options,
        const FitContext& context, bool unit_weights, std::size_t subtree_rows, Task root);

  struct Request {
    std::size_t node;
    std::vector<std::uint32_t> features;
    std::vector<bool> as_histogram;  // otherwise row by row
  };
  std::vector<Request> requests() const;

  // The counts of the features that were requested.
  void answer(std::size_t node, std::span<const FeatureCounts> counts);

  std::vector<Route> routes() const;

  // Nodes whose rows one machine takes. `features` is the order in which they find the features.
  struct Subtree {
    std::size_t node;
    const Task& task;
    std::span<const std::uint32_t> features;
  };
  std::vector<Subtree> subtrees() const;

  // The whole tree, with the trees that were grown from the subtrees, in their order.
  Tree assemble(std::span<const Tree> grown) const;

 private:
  enum class State { kOpen, kSplit, kLeaf, kSubtree };
  using Entries = std::vector<Entry<WholeSample::Weight>>;

  struct TrunkNode {
    State state;
    Task task;
    FeatureOrder order;
    Rng rng;
    std::vector<std::uint32_t> batch{};  // that waits for its counts
    Cut cut{};
    Entries entries{};                  // of the cut's feature
    std::vector<std::uint32_t> rows{};  // of each of its codes; empty: an entry is a row
    Split split{};
    std::size_t left = 0, right = 0;
  };

  void add(Task task, const FeatureOrder& order);
  void draw(TrunkNode& node);
  void finish(std::size_t number);
  bool may_merge() const { return unit_weights_ || options_.min_rows_leaf <= 1; }
  bool as_histogram(std::size_t n_rows, std::uint32_t feature) const;
  // Returns whether an entry is a row.
  bool make_entries(const TrunkNode& node, std::uint32_t feature, const FeatureCounts& counts,
                    Entries& entries) const;

  const Codes& codes_;
  const GrowOptions options_;
  const std::size_t n_classes_;
  const std::unique_ptr<AnyCriterion> criterion_;
  const bool unit_weights_;
  const std::size_t subtree_rows_;
  double total_weight_;
  FeatureCut<WholeSample> search_;
  std::vector<TrunkNode> nodes_;
};

}  // namespace hardwood
