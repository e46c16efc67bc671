// Where rows end up, and what the forest makes of them.
//
// Values are compared in their own precision; a missing one (NaN) goes where its node says, and so
// does a value that is no category where a node splits by a set. Rows are taken in blocks that stay
// in the cache while all trees look at them. Where there are many rows, trees are packed for them
// first (packed_trees.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hardwood/bootstrap.hpp"
#include "hardwood/codes.hpp"
#include "hardwood/forest.hpp"
#include "hardwood/packed_trees.hpp"
#include "hardwood/parallel.hpp"
#include "hardwood/tree.hpp"

namespace hardwood {

inline constexpr std::size_t kMostRows = 512;

// The rows of a matrix, whatever the type of its numbers.
class Rows {
 public:
  virtual ~Rows() = default;
  virtual std::size_t size() const = 0;
  virtual std::size_t bytes_of_row() const = 0;

  // Writes down the node number of each row's leaf, of kMostRows rows at the most.
  virtual void find_leaves(const Branches& tree, std::span<const std::uint32_t> rows,
                           std::uint32_t* leaves) const = 0;

  virtual KeyKind keys() const { return KeyKind::none; }
  virtual std::size_t n_columns() const = 0;
  // The rows from first to last - 1 for packed trees, of kMostRows rows at the most; nullptr if
  // they have no keys.
  virtual std::unique_ptr<KeyedRows> keyed(std::size_t first, std::size_t last) const = 0;
};

template <class T>
class MatrixRows final : public Rows {
 public:
  explicit MatrixRows(const MatrixView<T>& X) : X_(X) {}
  std::size_t size() const override { return X_.n_rows; }
  std::size_t bytes_of_row() const override { return X_.n_columns * sizeof(T); }
  void find_leaves(const Branches& tree, std::span<const std::uint32_t> rows,
                   std::uint32_t* leaves) const override;

  KeyKind keys() const override { return key_kind<T>(); }
  std::size_t n_columns() const override { return X_.n_columns; }
  std::unique_ptr<KeyedRows> keyed(std::size_t first, std::size_t last) const override;

 private:
  template <class ChildOf>
  void walk(const Node* tree, std::span<const std::uint32_t> rows, std::uint32_t* leaves,
            const ChildOf& child_of) const;

  MatrixView<T> X_;
};

// The rows of a sparse matrix, for trees without sets of categories.
template <class T>
class SparseRows final : public Rows {
 public:
  // Throws std::invalid_argument if the matrix is not as it must be.
  explicit SparseRows(const SparseView<T>& X);
  std::size_t size() const override { return X_.n_rows; }
  std::size_t bytes_of_row() const override;
  void find_leaves(const Branches& tree, std::span<const std::uint32_t> rows,
                   std::uint32_t* leaves) const override;

  std::size_t n_columns() const override { return X_.n_columns; }
  std::unique_ptr<KeyedRows> keyed(std::size_t, std::size_t) const override { return nullptr; }

 private:
  T value(std::uint32_t row, std::uint32_t column) const;
  // The bits of a row: one is set for every column with an entry, and a few others share it.
  struct Filter {
    std::size_t first_word;
    std::uint32_t mask;
  };

  SparseView<T> X_;
  std::vector<Filter> filters_;
  std::vector<std::uint64_t> words_;
};

// leaves[row][tree]: node numbers within the trees.
void apply(std::span<const Node> nodes, std::span<const std::int64_t> node_start,
           const SetWords& sets, const Rows& rows, int n_threads, const Poll& poll,
           std::span<std::int64_t> leaves);

// proba[row][class]: the average of the leaves' class proportions, trees added in their order.
template <class Count>
void predict_proba(const ForestView<Count>& forest, const Rows& rows, int n_threads,
                   const Poll& poll, std::span<double> proba);

// The same from only those trees that a row was not drawn for: votes[row][class] are sums, and
// n_votes[row] tells of how many trees.
template <class Count>
void out_of_bag_votes(const ForestView<Count>& forest, const Rows& rows, const Bootstrap& bootstrap,
                      std::uint64_t seed, int n_threads, const Poll& poll, std::span<double> votes,
                      std::span<std::int64_t> n_votes);

}  // namespace hardwood
