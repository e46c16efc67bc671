#include "hardwood/parallel.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace hardwood {

void parallel_for(std::size_t n, int n_threads, const Poll& poll,
                  const std::function<void(std::size_t, const Poll&)>& task) {
  struct Stopped {};
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr failure;
  std::mutex mutex;
  std::condition_variable ended;
  int n_helpers = 0;

  auto guarded = [&](auto&& work) {
    try {
      work();
    } catch (const Stopped&) {
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!stop.exchange(true)) failure = std::current_exception();
    }
  };
  auto count_helpers = [&](int more) {
    const std::lock_guard lock(mutex);
    n_helpers += more;
  };
  auto run = [&](const Poll& own_poll) {
    guarded([&] {
      for (std::size_t i; !stop && (i = next.fetch_add(1)) < n;) task(i, own_poll);
    });
  };
  const Poll stop_only = [&] {
    if (stop) throw Stopped{};
  };
  const Poll poll_or_stop = [&] {
    if (poll) poll();
    stop_only();
  };

  std::vector<std::jthread> helpers;
  guarded([&] {
    for (std::size_t t = 1; t < static_cast<std::size_t>(n_threads) && t < n; ++t) {
      count_helpers(1);
      try {
        helpers.emplace_back([&] {
          run(stop_only);
          const std::lock_guard lock(mutex);
          --n_helpers;
          ended.notify_one();
        });
      } catch (const std::system_error&) {  // no thread to be had: the others do the work
        count_helpers(-1);
        break;
      } catch (...) {  // no memory for one
        count_helpers(-1);
        throw;
      }
    }
  });
  run(poll_or_stop);
  for (std::unique_lock lock(mutex); n_helpers > 0;) {
    ended.wait_for(lock, std::chrono::milliseconds(20));
    if (!poll || stop) continue;
    lock.unlock();
    guarded(poll);
    lock.lock();
  }
  helpers.clear();  // joins
  if (failure) std::rethrow_exception(failure);
}

}  // namespace hardwood
