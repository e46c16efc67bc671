// Any number of threads gives the same, and fits do not disturb each other. The thread sanitizer
// watches (HARDWOOD_SANITIZE=thread).
#include <thread>
#include <vector>

#include "check.hpp"
#include "criterion_list.hpp"
#include "hardwood/parallel.hpp"
#include "small_fit.hpp"

using namespace small_fit;

TEST_CASE(two_to_eight_threads_give_the_same_as_one) {
  const Table table(3000);  // enough for nodes and rows to be shared among threads
  for (const char* criterion : {"gini", "credal"}) {
    CriterionSpec spec{criterion};
    for (const auto& each : named_criteria())
      if (each.name == spec.name) spec = each;
    const auto expected = fit_and_predict(table, spec, 1);
    for (int n_threads = 2; n_threads <= 8; n_threads += 2)
      CHECK(fit_and_predict(table, spec, n_threads) == expected);
  }
}

TEST_CASE(eight_fits_at_once_give_the_same_as_one) {
  const Table table(500);
  const auto criteria = named_criteria();
  std::vector<CriterionSpec> specs;
  for (const auto& spec : criteria)
    if (spec.name != "ranking") specs.push_back(spec);  // for two classes
  std::vector<std::vector<double>> expected(8), at_once(8);
  const auto run = [&](std::size_t i, int n_threads) {
    return fit_and_predict(table, specs[i % specs.size()], n_threads);
  };
  for (std::size_t i = 0; i < 8; ++i) expected[i] = run(i, 1);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 8; ++i)
      threads.emplace_back([&, i] { at_once[i] = run(i, 1 + static_cast<int>(i % 3)); });
  }
  CHECK(at_once == expected);
}

TEST_CASE(a_failure_on_any_thread_is_thrown_once) {
  for (int n_threads = 1; n_threads <= 8; ++n_threads)
    for (std::size_t failing = 0; failing < 20; failing += 3) {
      std::atomic<int> n_failed{0};
      try {
        parallel_for(20, n_threads, {}, [&](std::size_t i, const Poll& poll) {
          poll();
          if (i >= failing) throw std::runtime_error("failed");
        });
      } catch (const std::runtime_error&) {
        ++n_failed;
      }
      CHECK(n_failed == 1);
    }
}
