// Room for the codes of all columns, side by side.
//
// Nodes read the columns at rows that are far apart. Together, columns are large enough for the
// large pages that a Buffer asks for; alone, most are not, and looking up their pages would take as
// long as reading them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "hardwood/buffer.hpp"

namespace hardwood {

// A column's codes keep the room that they are in.
using ColumnBytes = std::shared_ptr<std::uint8_t>;

class ColumnRoom {
 public:
  // What nobody takes is never touched, and so takes no memory.
  explicit ColumnRoom(std::size_t most_bytes)
      : memory_(std::make_shared<Buffer<std::uint8_t>>(most_bytes)) {}

  // From several threads at once.
  ColumnBytes take(std::size_t n_bytes) {
    const std::size_t place = taken_.fetch_add(rounded(n_bytes));
    if (place + n_bytes > memory_->size()) return of_its_own(n_bytes);
    return {memory_, memory_->data() + place};
  }

  static ColumnBytes of_its_own(std::size_t n_bytes) {
    auto memory = std::make_shared<Buffer<std::uint8_t>>(n_bytes);
    return {memory, memory->data()};
  }

  // No two columns share a cache line, as two threads may write them.
  static std::size_t rounded(std::size_t n_bytes) {
    constexpr std::size_t line = 64;
    return (n_bytes + line - 1) / line * line;
  }

 private:
  std::shared_ptr<Buffer<std::uint8_t>> memory_;
  std::atomic<std::size_t> taken_{0};
};

}  // namespace hardwood
