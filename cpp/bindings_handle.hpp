// A forest as Python keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hardwood/forest.hpp"

namespace hardwood {

using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// An array of Python's, and where its numbers are.
template <class View>
struct Held {
  nb::object array;
  View view;

  // NOLINTNEXTLINE: an argument becomes one
  Held(nb::object object) : array(std::move(object)), view(nb::cast<View>(array)) {}
};

// Counts are of the smallest type that holds them.
inline nb::object counts_to_numpy(Forest& forest) {
  auto narrowed = [&]<class Count>(Count) {
    std::vector<Count> counts(forest.entry_count.begin(), forest.entry_count.end());
    return nb::cast(to_numpy(std::move(counts)));
  };
  switch (forest.count_kind()) {
    case CountKind::u16:
      return narrowed(std::uint16_t{});
    case CountKind::u32:
      return narrowed(std::uint32_t{});
    default:
      return nb::cast(to_numpy(std::move(forest.entry_count)));
  }
}

// The vector of nodes becomes the array's memory.
inline nb::object nodes_to_numpy(Buffer<Node> nodes) {
  auto* owned = new Buffer<Node>(std::move(nodes));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Buffer<Node>*>(p); });
  return nb::cast(Array<std::uint8_t, 2>(owned->data(), {owned->size(), sizeof(Node)}, owner));
}

// The trees of a forest as Python keeps them: arrays that may lie in a file.
class ForestHandle {
 public:
  // Without sets, no tree splits by categories.
  ForestHandle(std::size_t n_classes, nb::object nodes, nb::object entry_label,
               nb::object entry_count, nb::object node_start, nb::object entry_start,
               nb::object set_words = nb::none(), nb::object set_start = nb::none())
      : n_classes(n_classes),
        nodes(std::move(nodes)),
        entry_label(std::move(entry_label)),
        entry_count(std::move(entry_count)),
        node_start(std::move(node_start)),
        entry_start(std::move(entry_start)),
        set_words(or_zeros<std::uint32_t>(std::move(set_words), 0)),
        set_start(or_zeros<std::int64_t>(std::move(set_start), this->node_start.view.shape(0))) {
    const auto& bytes = this->nodes.view;
    if (bytes.shape(1) != sizeof(Node) ||
        reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(Node) != 0)
      throw std::invalid_argument("nodes must be 16 bytes wide, and aligned");
    if (this->node_start.view.shape(0) == 0)
      throw std::invalid_argument("node_start must not be empty");
  }

  static ForestHandle* of(std::size_t n_classes, Forest forest) {
    nb::object counts = counts_to_numpy(forest);
    return new ForestHandle(n_classes, nodes_to_numpy(std::move(forest.nodes)),
                            nb::cast(to_numpy(std::move(forest.entry_label))), std::move(counts),
                            nb::cast(to_numpy(std::move(forest.node_start))),
                            nb::cast(to_numpy(std::move(forest.entry_start))),
                            nb::cast(to_numpy(std::move(forest.set_words))),
                            nb::cast(to_numpy(std::move(forest.set_start))));
  }

  std::size_t n_trees() const { return node_start.view.shape(0) - 1; }
  SetWords sets() const { return {view(set_words.view), view(set_start.view)}; }
  std::span<const Node> node_span() const {
    return {reinterpret_cast<const Node*>(nodes.view.data()), nodes.view.shape(0)};
  }

  // Calls use(view of the forest) for whichever type the counts have.
  template <class Use>
  auto with_view(const Use& use) const {
    const AnyVector& counts = entry_count.view;
    auto with = [&]<class Count>(Count) {
      return use(ForestView<Count>{n_classes,
                                   node_span(),
                                   view(entry_label.view),
                                   {static_cast<const Count*>(counts.data()), counts.shape(0)},
                                   view(node_start.view),
                                   view(entry_start.view),
                                   sets()});
    };
    if (counts.dtype() == nb::dtype<std::uint16_t>()) return with(std::uint16_t{});
    if (counts.dtype() == nb::dtype<std::uint32_t>()) return with(std::uint32_t{});
    if (counts.dtype() == nb::dtype<double>()) return with(double{});
    throw std::invalid_argument("entry_count must be uint16, uint32 or float64");
  }

  Tree tree(std::size_t t) const {
    if (t >= n_trees()) throw nb::index_error("there is no such tree");
    return with_view([&](auto forest) { return tree_of(forest, t); });
  }

  template <auto member>
  nb::object array_of() const {
    return (this->*member).array;
  }

  nb::tuple state() const {
    return nb::make_tuple(n_classes, nodes.array, entry_label.array, entry_count.array,
                          node_start.array, entry_start.array, set_words.array, set_start.array);
  }

  const std::size_t n_classes;
  const Held<RowMatrix<std::uint8_t>> nodes;
  const Held<Vector<std::uint16_t>> entry_label;
  const Held<AnyVector> entry_count;
  const Held<Vector<std::int64_t>> node_start, entry_start;
  const Held<Vector<std::uint32_t>> set_words;
  const Held<Vector<std::int64_t>> set_start;

 private:
  template <class T>
  static nb::object or_zeros(nb::object array, std::size_t size) {
    return array.is_none() ? nb::cast(to_numpy(std::vector<T>(size, 0))) : array;
  }
};

}  // namespace hardwood
