// The fuzzer of model files without libFuzzer: forests, changed at random.
#include <random>

#include "../fuzz/use_arrays.hpp"
#include "check.hpp"
#include "random_forest.hpp"

using hardwood::fuzz::change_a_little;
using hardwood::fuzz::StoredArrays;
using hardwood::fuzz::use;

TEST_CASE(stored_forests_are_used) {
  std::mt19937 rng(1);
  for (std::uint16_t kind = 0; kind < 200; ++kind) CHECK(use(random_stored_arrays(kind, rng)));
}

TEST_CASE(bytes_are_the_same_arrays_again) {
  std::mt19937 rng(2);
  for (std::uint16_t kind = 0; kind < 20; ++kind) {
    const auto bytes = random_stored_arrays(kind, rng).bytes();
    CHECK(StoredArrays::from(bytes).bytes() == bytes);
    CHECK(use(StoredArrays::from(bytes)));
  }
}

TEST_CASE(changed_forests_are_refused_or_used) {
  std::mt19937 rng(3);
  int n_used = 0;
  constexpr int n = 20000;
  for (int i = 0; i < n; ++i) {
    StoredArrays arrays = random_stored_arrays(static_cast<std::uint16_t>(i), rng);
    for (auto changes = 1 + rng() % 3; changes-- > 0;) change_a_little(arrays, rng);
    n_used += use(arrays);
  }
  CHECK(n_used > n / 20 && n_used < n / 2);
}
