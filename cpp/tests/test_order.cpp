#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "check.hpp"
#include "hardwood/order.hpp"

using namespace hardwood;

// Whichever way the entries are made, they are the samples sorted by code.
TEST_CASE(every_order_is_sorted_and_complete) {
  std::mt19937 rng(0);
  for (std::size_t n : {2, 5, 63, 64, 65, 200, 3000, 40000})
    for (std::uint32_t n_codes : {2, 7, 200, 3000, 65535})
      for (bool may_merge : {false, true}) {
        const std::size_t n_classes = 5;
        Workspace<WholeSample> space(n_codes);
        space.make_room(n);
        std::vector<std::uint16_t> codes(n);
        std::vector<WholeSample> samples(n);
        std::map<std::pair<int, int>, int> expected, seen;
        std::uint32_t first = 65535, last = 0;
        for (std::size_t i = 0; i < n; ++i) {
          samples[i] = {static_cast<std::uint32_t>(i),
                        static_cast<std::uint16_t>(rng() % n_classes),
                        static_cast<std::uint16_t>(1 + rng() % 3)};
          codes[i] = static_cast<std::uint16_t>(rng() % n_codes);
          first = std::min<std::uint32_t>(first, codes[i]);
          last = std::max<std::uint32_t>(last, codes[i]);
          expected[{codes[i], samples[i].label}] += samples[i].weight;
        }
        for (int again = 0; again < 2; ++again) {  // the workspace is left clean
          order_samples<WholeSample>(samples, codes.data(), {first, last}, n_classes, may_merge,
                                     space);
          CHECK(space.size <= n);
          CHECK(std::ranges::is_sorted(std::span(space.entry).first(space.size), {},
                                       &Entry<std::uint32_t>::code));
          seen.clear();
          for (std::size_t j = 0; j < space.size; ++j)
            seen[{space.entry[j].code, space.entry[j].label}] +=
                static_cast<int>(space.entry[j].weight);
          CHECK(seen == expected);
          CHECK(may_merge || space.one_row_each);
        }
      }
}

// A column that is often one code has the same entries, but for those of that code: one a class.
TEST_CASE(the_common_code_has_one_entry_for_each_class) {
  std::mt19937 rng(1);
  const std::size_t n_classes = 4;
  for (std::size_t n : {2, 40, 300, 6000})
    for (std::uint32_t n_codes : {3, 200, 5000})
      for (std::uint16_t common : {0, 2})
        for (std::uint32_t share : {0, 60, 100}) {  // of samples that have the common code
          Workspace<WholeSample> space(n_codes);
          space.make_room(n);
          std::vector<std::uint16_t> codes(n);
          std::vector<WholeSample> samples(n);
          std::vector<double> counts(n_classes, 0);
          std::map<std::pair<int, int>, int> expected, seen;
          for (std::size_t i = 0; i < n; ++i) {
            samples[i] = {static_cast<std::uint32_t>(i),
                          static_cast<std::uint16_t>(rng() % (n_classes - 1)),  // one is absent
                          static_cast<std::uint16_t>(1 + rng() % 3)};
            codes[i] = rng() % 100 < share ? common : static_cast<std::uint16_t>(rng() % n_codes);
            counts[samples[i].label] += samples[i].weight;
            expected[{codes[i], samples[i].label}] += samples[i].weight;
          }
          for (int again = 0; again < 2; ++again) {  // the workspace is left clean
            order_others(samples, codes.data(), {0, n_codes - 1}, common, counts, space);
            CHECK(space.size <= n);
            CHECK(!space.one_row_each);
            const std::span entries = std::span(space.entry).first(space.size);
            CHECK(std::ranges::is_sorted(entries, {}, &Entry<std::uint32_t>::code));
            CHECK(std::ranges::count(entries, common, &Entry<std::uint32_t>::code) <
                  static_cast<std::ptrdiff_t>(n_classes));
            seen.clear();
            for (const auto& entry : entries)
              seen[{entry.code, entry.label}] += static_cast<int>(entry.weight);
            CHECK(seen == expected);
          }
        }
}
