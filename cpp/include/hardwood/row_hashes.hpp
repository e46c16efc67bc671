// Hashes of rows, to find rows that are equal.
//
// Let h(j, x) be a hash of value x in column j, and h(j, 0) = 0. The hash of a row in a block of
// columns is Σ_j h(j, x_j), so that the zeros of a sparse matrix need not be visited. Numbers that
// are equal have equal hashes, whatever their types, and so have all missing values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hardwood/codes.hpp"
#include "hardwood/parallel.hpp"

namespace hardwood {

// hashes[block][row]; block b has the columns from starts[b] to starts[b + 1].
template <class T>
void hash_rows(const MatrixView<T>& X, std::span<const std::size_t> starts, int n_threads,
               const Poll& poll, std::span<std::uint64_t> hashes);
template <class T>
void hash_rows(const SparseView<T>& X, std::span<const std::size_t> starts, int n_threads,
               const Poll& poll, std::span<std::uint64_t> hashes);

}  // namespace hardwood
