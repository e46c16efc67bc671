#include "hardwood/coded_rows.hpp"

namespace hardwood {

std::vector<std::int32_t> route_rows(std::span<const CodedColumn> columns,
                                     std::span<const std::uint32_t> times,
                                     std::span<const Route> routes) {
  std::vector<std::vector<bool>> sets(routes.size());
  for (std::size_t i = 0; i < routes.size(); ++i)
    for (const std::uint16_t code : routes[i].left_codes) {
      if (sets[i].empty()) sets[i].resize(std::size_t{1} << 16, false);
      sets[i][code] = true;
    }
  std::vector<std::int32_t> nodes(times.size(), -1);
  for (std::size_t row = 0; row < times.size(); ++row) {
    if (times[row] == 0) continue;
    std::int32_t node = 0;
    while (routes[static_cast<std::size_t>(node)].feature >= 0) {
      const auto number = static_cast<std::size_t>(node);
      const Route& route = routes[number];
      const std::uint32_t code = columns[static_cast<std::size_t>(route.feature)].at(row);
      const bool left = sets[number].empty() ? code <= route.last_left || code == route.missing_left
                                             : sets[number][code];
      node = left ? route.left : route.right;
    }
    nodes[row] = node;
  }
  return nodes;
}

CodeHistogram count_codes(const CodedColumn& column, std::size_t n_codes,
                          std::span<const std::uint16_t> labels, std::size_t n_classes,
                          std::span<const std::uint32_t> times,
                          std::span<const std::uint32_t> rows) {
  CodeHistogram out{std::vector<std::uint32_t>(n_codes * n_classes, 0),
                    std::vector<std::uint32_t>(n_codes, 0)};
  auto count = [&](const auto* codes) {
    for (const std::uint32_t row : rows) {
      out.weights[codes[row] * n_classes + labels[row]] += times[row];
      ++out.rows[codes[row]];
    }
  };
  if (column.narrow)
    count(column.narrow);
  else
    count(column.wide);
  return out;
}

}  // namespace hardwood
