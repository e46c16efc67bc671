// Memory that runs out at any moment: the engine throws std::bad_alloc, or does without what it
// could not have, and loses nothing. The address sanitizer looks for leaks.
#include <new>
#include <vector>

#include "check.hpp"
#include "failing_new.hpp"
#include "small_fit.hpp"

using namespace small_fit;

TEST_CASE(memory_may_run_out_at_any_moment) {
  const Table table(40);
  for (const int n_threads : {1, 3}) {
    const auto expected = fit_and_predict(table, {"gini"}, n_threads);
    long n_refused = 0;
    bool has_failed = true;
    for (long n = 0; has_failed; n += n < 200 ? 1 : 7) {
      std::vector<double> proba;
      failing_new::fail_after(n);
      try {
        proba = fit_and_predict(table, {"gini"}, n_threads);
      } catch (const std::bad_alloc&) {
        ++n_refused;
      }
      has_failed = failing_new::stop();
      CHECK(proba.empty() || proba == expected);
      CHECK(has_failed || !proba.empty());
    }
    CHECK(n_refused > 100);
  }
}
