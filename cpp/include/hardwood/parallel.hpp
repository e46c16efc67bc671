// Threads, and the way back to the caller while they work.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace hardwood {

// Called now and then by long work, on the calling thread only; it throws to stop it.
using Poll = std::function<void()>;

// Runs task(0) … task(n - 1) on n_threads threads, the calling one among them. The first exception
// ends the rest and is thrown again here.
template <class Task>
void parallel_for(std::size_t n, int n_threads, const Poll& poll, Task&& task) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  auto work = [&](bool may_poll) {
    try {
      for (std::size_t i; (i = next.fetch_add(1)) < n;) {
        task(i);
        if (may_poll && poll) poll();
      }
    } catch (...) {
      next.store(n);
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::jthread> helpers;
  for (std::size_t t = 1; t < static_cast<std::size_t>(n_threads) && t < n; ++t)
    helpers.emplace_back(work, false);
  work(true);
  helpers.clear();  // joins
  if (failure) std::rethrow_exception(failure);
}

}  // namespace hardwood
