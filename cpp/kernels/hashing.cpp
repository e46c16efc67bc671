#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "hardwood/row_hashes.hpp"

namespace hardwood {
namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;

// The same for equal numbers, 0 for zero and for no other.
template <class T>
std::uint64_t bits_of(T value) {
  const auto as_double = static_cast<double>(value);
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    constexpr double exact = 9007199254740992;
    if (!(as_double > -exact && as_double < exact)) return static_cast<std::uint64_t>(value);
  }
  if (as_double != as_double)
    return std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
  return std::bit_cast<std::uint64_t>(as_double + 0.0);  // -0 becomes +0
}

// Bits become the hash of a value in a column.
std::uint64_t mixed(std::uint64_t bits, std::size_t column) {
  std::uint64_t z = (bits ^ (column + 1) * kOdd) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 32) * 0x94d049bb133111eb;
  return bits == 0 ? 0 : z ^ z >> 29;
}

// Calls task(row) for all rows.
template <class Task>
void for_each_row(std::size_t n_rows, int n_threads, const Poll& poll, const Task& task) {
  constexpr std::size_t at_once = 256;
  parallel_for((n_rows + at_once - 1) / at_once, n_threads, poll,
               [&](std::size_t part, const Poll& own_poll) {
                 own_poll();
                 const std::size_t last = std::min(n_rows, (part + 1) * at_once);
                 for (std::size_t row = part * at_once; row < last; ++row) task(row);
               });
}

}  // namespace

template <class T>
void hash_rows(const MatrixView<T>& X, std::span<const std::size_t> starts, int n_threads,
               const Poll& poll, std::span<std::uint64_t> hashes) {
  for_each_row(X.n_rows, n_threads, poll, [&](std::size_t row) {
    for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
      std::uint64_t sum = 0;
      for (std::size_t f = starts[b]; f < starts[b + 1]; ++f)
        sum += mixed(bits_of(X.at(row, f)), f);
      hashes[b * X.n_rows + row] = sum;
    }
  });
}

template <class T>
void hash_rows(const SparseView<T>& X, std::span<const std::size_t> starts, int n_threads,
               const Poll& poll, std::span<std::uint64_t> hashes) {
  X.check();
  for_each_row(X.n_rows, n_threads, poll, [&](std::size_t row) {
    auto i = static_cast<std::size_t>(X.starts[row]);
    const auto end = static_cast<std::size_t>(X.starts[row + 1]);
    for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
      std::uint64_t sum = 0;
      for (; i < end && static_cast<std::size_t>(X.columns[i]) < starts[b + 1]; ++i)
        sum += mixed(bits_of(X.values[i]), static_cast<std::size_t>(X.columns[i]));
      hashes[b * X.n_rows + row] = sum;
    }
  });
}

using Starts = std::span<const std::size_t>;
using Hashes = std::span<std::uint64_t>;
template void hash_rows(const MatrixView<float>&, Starts, int, const Poll&, Hashes);
template void hash_rows(const MatrixView<double>&, Starts, int, const Poll&, Hashes);
template void hash_rows(const MatrixView<std::uint8_t>&, Starts, int, const Poll&, Hashes);
template void hash_rows(const MatrixView<std::int8_t>&, Starts, int, const Poll&, Hashes);
template void hash_rows(const MatrixView<std::uint16_t>&, Starts, int, const Poll&, Hashes);
template void hash_rows(const MatrixView<std::int16_t>&, Starts, int, const Poll&, Hashes);
template void hash_rows(const MatrixView<std::uint32_t>&, Starts, int, const Poll&, Hashes);
template void hash_rows(const MatrixView<std::int32_t>&, Starts, int, const Poll&, Hashes);
template void hash_rows(const MatrixView<std::uint64_t>&, Starts, int, const Poll&, Hashes);
template void hash_rows(const MatrixView<std::int64_t>&, Starts, int, const Poll&, Hashes);
template void hash_rows(const SparseView<float>&, Starts, int, const Poll&, Hashes);
template void hash_rows(const SparseView<double>&, Starts, int, const Poll&, Hashes);

}  // namespace hardwood
