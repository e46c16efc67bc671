// Grows one tree.
//
// Growth is depth-first; with max_leaf_nodes it is best-first, the node with the largest gain next.
//
// Depth-first, the tree has a trunk of large nodes, whose features are searched on several threads,
// and subtrees below it, which are grown on several threads. A node of the trunk and a subtree draw
// their random numbers from streams of their own, whose keys the parent's stream gives, and find
// the features in the order in which the parent left them. So the tree is the same for any number
// of threads, and for any order in which nodes of the trunk are split.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "hardwood/node_split.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/rng.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

template <class Sample>
class Grower {
 public:
  Grower(const Codes& codes, const AnyCriterion& criterion, const GrowOptions& options,
         std::size_t n_classes, const Poll& poll)
      : codes_(codes),
        criterion_(criterion),
        options_(options),
        n_classes_(n_classes),
        poll_(poll),
        splitter_(codes, criterion_, options, n_classes, options.n_threads, poll) {}

  Tree grow(std::vector<Sample> samples, Rng rng) {
    samples_ = std::move(samples);
    unit_weights_ = std::all_of(samples_.begin(), samples_.end(),
                                [](const Sample& s) { return s.weight == 1; });
    Task root{.begin = 0, .end = samples_.size()};
    root.counts.resize(n_classes_);
    add_counts<Sample>(samples_, root.counts);
    root.key = rng.next();
    total_weight_ = std::accumulate(root.counts.begin(), root.counts.end(), 0.0);
    splitter_.start_tree(samples_, unit_weights_, total_weight_);
    return options_.max_leaves == std::numeric_limits<std::size_t>::max()
               ? grow_depth_first(std::move(root))
               : grow_best_first(std::move(root));
  }

  // What is left of a tree below a node that somebody else has come to, from the node's samples.
  // The weights are those of the whole tree.
  Tree grow_below(std::vector<Sample> samples, Task node, std::span<const std::uint32_t> features,
                  bool unit_weights, double total_weight) {
    samples_ = std::move(samples);
    unit_weights_ = unit_weights;
    total_weight_ = total_weight;
    node.begin = 0;
    node.end = samples_.size();
    splitter_.start_tree(samples_, unit_weights_, total_weight_);
    splitter_.search().order().set_features(features);
    return grow_depth_first(std::move(node));
  }

  static constexpr std::size_t kSubtreeRows = 4096;

 private:
  struct Subtree {
    Task root;
    std::vector<std::uint32_t> features;
    Tree tree;
  };

  // A node of the trunk that waits, and the features as its parent left them; none where it is the
  // next one to be split, and finds them so.
  struct Waiting {
    Task task;
    std::vector<std::uint32_t> features;
  };

  // What stands in depth-first order: nodes of the trunk, and subtrees.
  struct Part {
    Split split;
    std::uint32_t right_of;  // the part whose right child this is
    std::size_t subtree;     // kNoSubtree: this is a split
  };
  static constexpr std::size_t kNoSubtree = std::numeric_limits<std::size_t>::max();

  Tree grow_depth_first(Task root) {
    std::vector<Part> parts;
    std::vector<Subtree> subtrees;
    grow_trunk(std::move(root), parts, subtrees);
    if (options_.n_threads > 1) {  // else they have grown
      const int n_threads =
          static_cast<int>(std::min<std::size_t>(subtrees.size(), options_.n_threads));
      std::atomic<std::size_t> next{0};
      parallel_for(static_cast<std::size_t>(n_threads), n_threads, poll_,
                   [&](std::size_t, const Poll& own_poll) {
                     NodeSplitter<Sample> splitter(codes_, criterion_, options_, n_classes_, 1,
                                                   own_poll);
                     splitter.start_tree(samples_, unit_weights_, total_weight_);
                     for (std::size_t i; (i = next.fetch_add(1)) < subtrees.size();) {
                       grow_subtree(subtrees[i], splitter);
                       own_poll();
                     }
                   });
    }
    Tree tree = new_tree();
    std::vector<std::uint32_t> number(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      const std::uint32_t right_of = part.right_of == kNobody ? kNobody : number[part.right_of];
      number[i] = part.subtree == kNoSubtree
                      ? part.split.add_to(tree, right_of)
                      : tree.append(std::exchange(subtrees[part.subtree].tree, {}), right_of);
    }
    return tree;
  }

  // Splits all nodes of more than kSubtreeRows rows. A large leaf becomes a subtree too.
  void grow_trunk(Task root, std::vector<Part>& parts, std::vector<Subtree>& subtrees) {
    find_places(root);
    std::vector<Waiting> stack;
    stack.push_back({std::move(root), {}});
    while (!stack.empty()) {
      auto [task, features] = std::move(stack.back());
      stack.pop_back();
      if (!features.empty()) splitter_.search().order().set_features(features);
      const std::uint32_t right_of = std::exchange(task.right_of, kNobody);
      Split split;
      const bool is_large = task.n_rows() > kSubtreeRows;
      Rng rng(task.key, 0);
      if (is_large && splitter_.split(task, rng, place_.empty() ? nullptr : place_.data(), split)) {
        find_places(task);
        split.give_keys(rng);
        split.right.right_of = static_cast<std::uint32_t>(parts.size());
        stack.push_back({std::move(split.right), splitter_.search().order().features()});
        stack.push_back({std::move(split.left), {}});
        parts.push_back({std::move(split), right_of, kNoSubtree});
        continue;
      }
      parts.push_back({{}, right_of, subtrees.size()});
      Subtree subtree{{}, {}, new_tree()};
      if (is_large) {
        subtree.tree.add_leaf(task.counts, task.n_rows(), kNobody, options_.is_constrained());
      } else {
        subtree.root = std::move(task);
        subtree.features = splitter_.search().order().features();
      }
      if (options_.n_threads == 1)  // at once, so that lists of features do not pile up
        grow_subtree(subtree, splitter_);
      subtrees.push_back(std::move(subtree));
    }
  }

  // Notes where the rows of a large node's samples stand, for columns that list rows.
  void find_places(const Task& task) {
    if (task.n_rows() <= kSubtreeRows || !codes_.lists_rows) return;
    if (task.n_rows() == samples_.size()) place_.assign(codes_.n_rows, Places::kNowhere);
    for (std::size_t i = task.begin; i < task.end; ++i)
      place_[samples_[i].row] = static_cast<std::uint32_t>(i);
  }

  void grow_subtree(Subtree& subtree, NodeSplitter<Sample>& splitter) const {
    if (subtree.features.empty()) return;  // a leaf of the trunk
    splitter.search().order().set_features(std::exchange(subtree.features, {}));
    Rng rng(subtree.root.key, 0);
    std::vector<Task> stack;
    stack.push_back(std::move(subtree.root));
    while (!stack.empty()) {
      Task task = std::move(stack.back());
      stack.pop_back();
      Split split;
      if (!splitter.split(task, rng, nullptr, split)) {
        subtree.tree.add_leaf(task.counts, task.n_rows(), task.right_of, options_.is_constrained());
        splitter.recycle(std::move(task.counts));
        continue;
      }
      split.right.right_of = split.add_to(subtree.tree, task.right_of);
      splitter.recycle(std::move(task.counts));
      stack.push_back(std::move(split.right));
      stack.push_back(std::move(split.left));
    }
  }

  // Best-first: nodes wait with their splits in a queue, largest gain first, earliest first among
  // equals. The tree is put in depth-first order at the end. Every node starts anew with all
  // features, and with a stream of its own.
  Tree grow_best_first(Task root) {
    struct Candidate {
      double gain;
      std::size_t number;
      bool operator<(const Candidate& other) const {
        return gain != other.gain ? gain < other.gain : number > other.number;
      }
    };
    struct Grown {
      Split split;
      std::vector<double> counts;
      std::size_t n_rows;
      std::size_t left = 0, right = 0;  // 0: a leaf
    };
    std::vector<Grown> grown;
    std::priority_queue<Candidate> queue;
    auto add = [&](Task task) {
      task.n_constant = 0;  // the order of growth does not keep what a path knows
      splitter_.search().order().reset();
      Rng rng(task.key, 0);
      Grown node{.split = {}, .counts = {}, .n_rows = task.n_rows()};
      if (splitter_.split(task, rng, nullptr, node.split)) {
        node.split.give_keys(rng);
        queue.push({node.split.gain, grown.size()});
      }
      node.counts = std::move(task.counts);
      grown.push_back(std::move(node));
      return grown.size() - 1;
    };
    add(std::move(root));
    for (std::size_t n_leaves = 1; n_leaves < options_.max_leaves && !queue.empty(); ++n_leaves) {
      const std::size_t number = queue.top().number;
      queue.pop();
      const std::size_t left = add(std::move(grown[number].split.left));
      const std::size_t right = add(std::move(grown[number].split.right));
      grown[number].left = left;
      grown[number].right = right;
    }
    struct Place {
      std::size_t number;
      std::uint32_t right_of;
    };
    std::vector<Place> stack{{0, kNobody}};
    Tree tree = new_tree();
    while (!stack.empty()) {
      const auto [number, right_of] = stack.back();
      stack.pop_back();
      const Grown& g = grown[number];
      if (g.left == 0) {
        tree.add_leaf(g.counts, g.n_rows, right_of, options_.is_constrained());
        continue;
      }
      const std::uint32_t node = g.split.add_to(tree, right_of);
      stack.push_back({g.right, node});
      stack.push_back({g.left, kNobody});
    }
    return tree;
  }

  Tree new_tree() const {
    Tree tree;
    tree.n_classes = n_classes_;
    return tree;
  }

  const Codes& codes_;
  const AnyCriterion& criterion_;
  const GrowOptions& options_;
  const std::size_t n_classes_;
  const Poll& poll_;
  NodeSplitter<Sample> splitter_;
  std::vector<Sample> samples_;
  std::vector<std::uint32_t> place_;  // of every row's sample, where columns list rows
  bool unit_weights_ = true;
  double total_weight_ = 0;
};

extern template class Grower<WholeSample>;  // kernels/growing.cpp
extern template class Grower<RealSample>;

}  // namespace hardwood
