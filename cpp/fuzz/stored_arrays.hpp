// The arrays of a forest as a file may hold them, right or wrong, and as the bytes of a fuzzer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "hardwood/forest.hpp"
#include "hardwood/tree.hpp"
#include "hardwood/validate.hpp"

namespace hardwood::fuzz {

// Numbers that say how large what follows is. Arrays that end before they should are shorter.
struct Sizes {
  std::uint16_t count_kind, n_features, n_classes;
  std::array<std::uint16_t, 2> n_categories;  // of the last two features; 0: not a category
  std::uint16_t n_node_start, n_entry_start, n_set_start, n_nodes, n_labels, n_counts, n_words;
};

struct StoredArrays {
  static constexpr std::size_t most_features = 64, most_classes = 1024;

  Sizes sizes{};
  std::vector<std::int64_t> node_start, entry_start, set_start;
  std::vector<Node> nodes;
  std::vector<double> counts;  // of u16 and u32, too, until the engine sees them
  std::vector<std::uint16_t> labels;
  std::vector<std::uint32_t> words;

  // Calls use(array, its size among the sizes) for all arrays in their order.
  template <class Self, class Use>
  static void each(Self& self, const Use& use) {
    use(self.node_start, self.sizes.n_node_start);
    use(self.entry_start, self.sizes.n_entry_start);
    use(self.set_start, self.sizes.n_set_start);
    use(self.nodes, self.sizes.n_nodes);
    use(self.counts, self.sizes.n_counts);
    use(self.labels, self.sizes.n_labels);
    use(self.words, self.sizes.n_words);
  }

  static StoredArrays from(std::span<const std::uint8_t> bytes) {
    StoredArrays out;
    auto take = [&bytes](void* to, std::size_t size) {
      if (size > 0) std::memcpy(to, bytes.data(), size);
      bytes = bytes.subspan(size);
    };
    if (bytes.size() < sizeof(Sizes)) return out;
    take(&out.sizes, sizeof(Sizes));
    each(out, [&]<class T>(std::vector<T>& array, std::uint16_t size) {
      array.resize(std::min<std::size_t>(size, bytes.size() / sizeof(T)));
      take(array.data(), array.size() * sizeof(T));
    });
    return out;
  }

  std::vector<std::uint8_t> bytes() {
    std::vector<std::uint8_t> out(sizeof(Sizes));
    each(*this, [&]<class T>(std::vector<T>& array, std::uint16_t& size) {
      array.resize(std::min<std::size_t>(array.size(), 65535));
      size = static_cast<std::uint16_t>(array.size());
      const auto* first = reinterpret_cast<const std::uint8_t*>(array.data());
      out.insert(out.end(), first, first + array.size() * sizeof(T));
    });
    std::memcpy(out.data(), &sizes, sizeof(Sizes));
    return out;
  }

  static StoredArrays of(const Forest& forest, std::size_t n_features, std::size_t n_classes,
                         std::array<std::uint16_t, 2> n_categories) {
    StoredArrays out;
    out.sizes.n_features = static_cast<std::uint16_t>(n_features);
    out.sizes.n_classes = static_cast<std::uint16_t>(n_classes);
    out.sizes.n_categories = n_categories;
    out.node_start = forest.node_start;
    out.entry_start = forest.entry_start;
    out.set_start = forest.set_start;
    out.nodes.assign(forest.nodes.begin(), forest.nodes.end());
    out.counts.assign(forest.entry_count.begin(), forest.entry_count.end());
    out.labels.assign(forest.entry_label.begin(), forest.entry_label.end());
    out.words.assign(forest.set_words.begin(), forest.set_words.end());
    return out;
  }

  std::size_t n_features() const { return sizes.n_features % (most_features + 1); }
  std::size_t n_classes() const { return sizes.n_classes % (most_classes + 1); }

  CategoryNumbers n_categories() const {
    CategoryNumbers numbers;
    for (std::size_t i = 0; i < 2; ++i)
      if (sizes.n_categories[i] > 0 && n_features() > i)
        numbers[static_cast<std::uint32_t>(n_features() - 1 - i)] = sizes.n_categories[i];
    return numbers;
  }
};

// Changes one array such that it stays nearly right: what is wrong is then met deep inside.
inline void change_a_little(StoredArrays& arrays, std::mt19937& rng) {
  const auto below = [&rng](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
  if (below(8) == 0) {
    auto* sizes = reinterpret_cast<std::uint16_t*>(&arrays.sizes);
    sizes[below(5)] = static_cast<std::uint16_t>(below(4) == 0 ? rng() : below(70));
    return;
  }
  std::size_t chosen = below(7);
  StoredArrays::each(arrays, [&]<class T>(std::vector<T>& array, std::uint16_t) {
    if (chosen-- != 0 || array.empty()) return;
    const std::size_t i = below(array.size());
    auto* bytes = reinterpret_cast<std::uint8_t*>(&array[i]);
    switch (below(6)) {
      case 0:  // another element's value
        array[i] = array[below(array.size())];
        break;
      case 1:
        array.pop_back();
        break;
      case 2: {
        const T copy = array[i];
        array.insert(array.begin() + static_cast<std::ptrdiff_t>(i), copy);
        break;
      }
      case 3:  // one more or less, in some word
      {
        const std::size_t word = 2 * below(sizeof(T) / 2);
        std::uint16_t value;
        std::memcpy(&value, bytes + word, 2);
        value = static_cast<std::uint16_t>(value + (below(2) ? 1 : -1));
        std::memcpy(bytes + word, &value, 2);
        break;
      }
      case 4:  // a bit
        bytes[below(sizeof(T))] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      default: {  // all ones, all zeros, or the largest of some size
        constexpr std::array<std::uint8_t, 4> fills{0, 255, 127, 128};
        const std::size_t first = below(sizeof(T));
        std::memset(bytes + first, fills[below(4)], sizeof(T) - first);
      }
    }
  });
}

}  // namespace hardwood::fuzz
