// A forest as Python keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hardwood/forest.hpp"

namespace hardwood {

// The memory of an array of Python's. nb::ndarray would end the process if its few bytes could not
// be allocated; this raises a MemoryError.
class Held {
 public:
  Held(nb::object object, int n_dimensions) : array(std::move(object)) {
    if (PyObject_GetBuffer(array.ptr(), &buffer_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0)
      throw nb::python_error();
    if (buffer_.ndim == n_dimensions) return;
    PyBuffer_Release(&buffer_);
    throw nb::type_error("an array of a forest has the wrong number of dimensions");
  }
  ~Held() { PyBuffer_Release(&buffer_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  std::size_t size(int dimension = 0) const {
    return static_cast<std::size_t>(buffer_.shape[dimension]);
  }

  // Whether the numbers are of this type. Python's letters for types of one size vary.
  template <class T>
  bool has() const {
    const std::string_view letters = std::is_floating_point_v<T> ? "fd"
                                     : std::is_signed_v<T>       ? "bhilq"
                                                                 : "BHILQ";
    const std::string_view format = buffer_.format == nullptr ? "B" : buffer_.format;
    return buffer_.itemsize == sizeof(T) && format.size() == 1 &&
           letters.find(format[0]) != letters.npos;
  }

  template <class T>
  std::span<const T> span() const {
    return {static_cast<const T*>(buffer_.buf), static_cast<std::size_t>(buffer_.len) / sizeof(T)};
  }

  const nb::object array;

 private:
  Py_buffer buffer_;
};

// An array of numbers of one type.
template <class T, int n_dimensions = 1>
struct HeldOf : Held {
  // NOLINTNEXTLINE: an argument becomes one
  HeldOf(nb::object object) : Held(std::move(object), n_dimensions) {
    if (!has<T>()) throw nb::type_error("an array of a forest has the wrong type");
  }
  std::span<const T> view() const { return span<T>(); }
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
        entry_count(std::move(entry_count), 1),
        node_start(std::move(node_start)),
        entry_start(std::move(entry_start)),
        set_words(or_zeros<std::uint32_t>(std::move(set_words), 0)),
        set_start(or_zeros<std::int64_t>(std::move(set_start), this->node_start.size())) {
    if (this->nodes.size(1) != sizeof(Node) ||
        reinterpret_cast<std::uintptr_t>(this->nodes.view().data()) % alignof(Node) != 0)
      throw std::invalid_argument("nodes must be 16 bytes wide, and aligned");
    if (this->node_start.size() == 0) throw std::invalid_argument("node_start must not be empty");
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

  std::size_t n_trees() const { return node_start.size() - 1; }
  SetWords sets() const { return {set_words.view(), set_start.view()}; }
  std::span<const Node> node_span() const {
    return {reinterpret_cast<const Node*>(nodes.view().data()), nodes.size()};
  }

  // Calls use(view of the forest) for whichever type the counts have.
  template <class Use>
  auto with_view(const Use& use) const {
    auto with = [&]<class Count>(Count) {
      return use(ForestView<Count>{n_classes, node_span(), entry_label.view(),
                                   entry_count.span<Count>(), node_start.view(), entry_start.view(),
                                   sets()});
    };
    if (entry_count.has<std::uint16_t>()) return with(std::uint16_t{});
    if (entry_count.has<std::uint32_t>()) return with(std::uint32_t{});
    if (entry_count.has<double>()) return with(double{});
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
  const HeldOf<std::uint8_t, 2> nodes;
  const HeldOf<std::uint16_t> entry_label;
  const Held entry_count;
  const HeldOf<std::int64_t> node_start, entry_start;
  const HeldOf<std::uint32_t> set_words;
  const HeldOf<std::int64_t> set_start;

 private:
  template <class T>
  static nb::object or_zeros(nb::object array, std::size_t size) {
    return array.is_none() ? nb::cast(to_numpy(std::vector<T>(size, 0))) : array;
  }
};

}  // namespace hardwood
