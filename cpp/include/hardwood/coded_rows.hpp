// Some of the coded rows of a table: what a machine knows that does not hold the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardwood/trunk.hpp"

namespace hardwood {

// The codes of a column, one or two bytes each.
struct CodedColumn {
  const std::uint8_t* narrow = nullptr;
  const std::uint16_t* wide = nullptr;

  std::uint32_t at(std::size_t row) const { return narrow ? narrow[row] : wide[row]; }
};

// Where each row ends up that is drawn, -1 otherwise.
std::vector<std::int32_t> route_rows(std::span<const CodedColumn> columns,
                                     std::span<const std::uint32_t> times,
                                     std::span<const Route> routes);

// A class histogram over a column's codes, and the number of rows of each code.
struct CodeHistogram {
  std::vector<std::uint32_t> weights, rows;
};
CodeHistogram count_codes(const CodedColumn& column, std::size_t n_codes,
                          std::span<const std::uint16_t> labels, std::size_t n_classes,
                          std::span<const std::uint32_t> times,
                          std::span<const std::uint32_t> rows);

}  // namespace hardwood
