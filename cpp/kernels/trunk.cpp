#include "hardwood/trunk.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace hardwood {

Trunk::Trunk(const Codes& codes, const CriterionSpec& spec, const GrowOptions& options,
             const FitContext& context, bool unit_weights, std::size_t subtree_rows, Task root)
    : codes_(codes),
      options_(options),
      n_classes_(context.n_classes),
      criterion_(make_criterion(spec, context)),
      unit_weights_(unit_weights),
      subtree_rows_(subtree_rows),
      total_weight_(sum(root.counts)),
      search_(codes, *criterion_, options_.search, n_classes_) {
  search_.start_tree(unit_weights);
  add(std::move(root), FeatureOrder(codes.n_columns()));
}

void Trunk::add(Task task, const FeatureOrder& order) {
  const Rng rng(task.key, 0);
  nodes_.push_back({State::kLeaf, std::move(task), order, rng});
  TrunkNode& node = nodes_.back();
  if (node.task.n_rows() <= subtree_rows_) {
    node.state = State::kSubtree;
  } else if (may_split(node.task, options_)) {
    node.state = State::kOpen;
    node.order.start_node(node.task.n_constant);
    draw(node);
  }
}

void Trunk::draw(TrunkNode& node) {
  const auto batch = node.order.draw(options_.search, node.rng);
  node.batch.assign(batch.begin(), batch.end());
}

bool Trunk::as_histogram(std::size_t n_rows, std::uint32_t feature) const {
  const Column& column = codes_.columns[feature];
  return may_merge() && (column.n_codes + column.has_missing) * n_classes_ <= n_rows;
}

std::vector<Trunk::Request> Trunk::requests() const {
  std::vector<Request> requests;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const TrunkNode& node = nodes_[i];
    if (node.state != State::kOpen) continue;
    Request request{i, node.batch, {}};
    for (const std::uint32_t feature : node.batch)
      request.as_histogram.push_back(as_histogram(node.task.n_rows(), feature));
    requests.push_back(std::move(request));
  }
  return requests;
}

bool Trunk::make_entries(const TrunkNode& node, std::uint32_t feature, const FeatureCounts& counts,
                         Entries& entries) const {
  const Column& column = codes_.columns[feature];
  const std::size_t n_codes = column.n_codes + column.has_missing;
  entries.clear();
  auto add_cells = [&](std::span<const std::uint32_t> cells) {
    for (std::size_t cell = 0; cell < cells.size(); ++cell)
      if (cells[cell] > 0)
        entries.push_back({static_cast<std::uint16_t>(cell / n_classes_),
                           static_cast<std::uint16_t>(cell % n_classes_), cells[cell]});
  };
  if (counts.is_histogram()) {
    if (counts.rows.size() != n_codes || counts.weights.size() != n_codes * n_classes_)
      throw std::invalid_argument("a histogram must have a cell for each code and class");
    add_cells(counts.weights);
    return false;
  }
  const std::size_t n = counts.codes.size();
  if (n != node.task.n_rows() || counts.labels.size() != n || counts.row_weights.size() != n)
    throw std::invalid_argument("there must be a code, a label and a weight for each row");
  const auto [first, last] = std::ranges::minmax_element(counts.codes);
  if (*last >= n_codes || *std::ranges::max_element(counts.labels) >= n_classes_)
    throw std::invalid_argument("codes and labels must be in range");
  // The same choice as order_samples makes.
  if (may_merge() && (std::size_t{*last} - *first + 1) * n_classes_ <= n) {
    std::vector<std::uint32_t> cells(n_codes * n_classes_, 0);
    for (std::size_t i = 0; i < n; ++i)
      cells[counts.codes[i] * n_classes_ + counts.labels[i]] += counts.row_weights[i];
    add_cells(cells);
    return false;
  }
  for (std::size_t i = 0; i < n; ++i)
    entries.push_back({counts.codes[i], counts.labels[i], counts.row_weights[i]});
  std::ranges::stable_sort(entries, {}, &Entry<WholeSample::Weight>::code);
  return true;
}

void Trunk::answer(std::size_t number, std::span<const FeatureCounts> counts) {
  TrunkNode& node = nodes_.at(number);
  if (node.state != State::kOpen || counts.size() != node.batch.size())
    throw std::invalid_argument("counts must be those that were requested");
  const NodeContext context = context_of(node.task, options_);
  search_.start_node({}, context, nullptr);
  std::array<bool, FeatureOrder::kBatch> constant{};
  Entries entries;
  for (std::size_t f = node.batch.size(); f-- > 0 && !node.cut.perfect;) {
    const std::uint32_t feature = node.batch[f];
    const bool one_row_each = make_entries(node, feature, counts[f], entries);
    const double before = node.cut.score;
    constant[f] =
        !search_.look_at_entries(feature, entries, one_row_each, node.order.unit(f), node.cut);
    if (!(node.cut.score > before)) continue;
    node.entries = entries;
    node.rows.assign(counts[f].rows.begin(), counts[f].rows.end());
    if (!one_row_each && node.rows.empty()) {  // rows that were merged here
      node.rows.assign(codes_.columns[feature].n_codes + std::size_t{1}, 0);
      for (const std::uint16_t code : counts[f].codes) ++node.rows[code];
    }
  }
  node.order.settle(constant.data());
  node.batch.clear();
  if (!node.cut.perfect) draw(node);
  if (node.batch.empty()) finish(number);
}

void Trunk::finish(std::size_t number) {
  TrunkNode& node = nodes_[number];
  node.state = State::kLeaf;
  if (!node.cut.found) return;
  Split& split = node.split;
  split.cut = node.cut;
  const Cut& cut = split.cut;
  const Column& column = codes_.columns[cut.feature];
  std::vector<bool> is_left(column.n_codes + std::size_t{1}, false);
  if (cut.is_set()) {
    for (const std::uint16_t code : cut.left_codes()) is_left[code] = true;
  } else {
    std::fill_n(is_left.begin(), cut.last_left + 1, true);
    if (cut.missing_left) is_left[column.n_codes] = true;
  }
  std::size_t n_left = 0;
  split.left.counts.assign(n_classes_, 0);
  bool missing = false;
  for (const auto& entry : node.entries) {
    missing |= entry.code == column.n_codes;
    if (!is_left[entry.code]) continue;
    split.left.counts[entry.label] += entry.weight;
    n_left += node.rows.empty();
  }
  for (std::size_t code = 0; code < node.rows.size(); ++code)
    if (is_left[code]) n_left += node.rows[code];
  split.right.counts = node.task.counts;
  for (std::size_t k = 0; k < n_classes_; ++k) split.right.counts[k] -= split.left.counts[k];
  split.left.end = n_left;
  split.right.end = node.task.n_rows() - n_left;
  for (Task* child : {&split.left, &split.right}) {
    child->depth = node.task.depth + 1;
    child->n_constant = node.order.n_constant();
  }
  node.entries = {};
  node.rows = {};
  missing &= !cut.is_set();
  if (!settle_split(node.task, codes_, *criterion_, options_, total_weight_, missing, split))
    return;
  split.give_keys(node.rng);
  node.state = State::kSplit;
  node.left = nodes_.size();
  node.right = node.left + 1;
  const FeatureOrder order = node.order;
  Task left = split.left, right = split.right;
  add(std::move(left), order);  // `node` may have moved
  add(std::move(right), order);
}

std::vector<Route> Trunk::routes() const {
  std::vector<Route> routes(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const TrunkNode& node = nodes_[i];
    if (node.state != State::kSplit) continue;
    // As the cut was found: its children may tell otherwise where values go that the node lacks.
    const Cut& cut = node.cut;
    routes[i] = {static_cast<std::int32_t>(cut.feature),
                 cut.last_left,
                 cut.missing_left ? codes_.columns[cut.feature].n_codes : kNobody,
                 static_cast<std::int32_t>(node.left),
                 static_cast<std::int32_t>(node.right),
                 {cut.left_codes().begin(), cut.left_codes().end()}};
  }
  return routes;
}

std::vector<Trunk::Subtree> Trunk::subtrees() const {
  std::vector<Subtree> subtrees;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].state == State::kSubtree)
      subtrees.push_back({i, nodes_[i].task, nodes_[i].order.features()});
  return subtrees;
}

Tree Trunk::assemble(std::span<const Tree> grown) const {
  Tree tree;
  tree.n_classes = n_classes_;
  std::vector<const Tree*> of_node(nodes_.size(), nullptr);
  const std::vector<Subtree> all = subtrees();
  if (grown.size() != all.size())
    throw std::invalid_argument("there must be a tree for each subtree");
  for (std::size_t i = 0; i < all.size(); ++i) of_node[all[i].node] = &grown[i];
  struct Place {
    std::size_t number;
    std::uint32_t right_of;
  };
  std::vector<Place> stack{{0, kNobody}};
  while (!stack.empty()) {
    const auto [number, right_of] = stack.back();
    stack.pop_back();
    const TrunkNode& node = nodes_[number];
    switch (node.state) {
      case State::kOpen:
        throw std::invalid_argument("the trunk has not grown yet");
      case State::kLeaf:
        tree.add_leaf(node.task.counts, node.task.n_rows(), right_of, options_.is_constrained());
        break;
      case State::kSubtree:
        tree.append(*of_node[number], right_of);
        break;
      case State::kSplit: {
        const std::uint32_t added = node.split.add_to(tree, right_of);
        stack.push_back({node.right, added});
        stack.push_back({node.left, kNobody});
      }
    }
  }
  return tree;
}

}  // namespace hardwood
