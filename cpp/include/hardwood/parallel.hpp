// Threads, and the way back to the caller while they work.
#pragma once

#include <cstddef>
#include <functional>

namespace hardwood {

// Called now and then by long work; it throws to stop it.
using Poll = std::function<void()>;

// Runs task(i, poll) for i = 0 … n - 1 on n_threads threads, the calling one among them. A task
// that takes long calls the poll it is given: on the calling thread this is the caller's, on the
// others it ends the task when another one has failed. The first failure is thrown again here.
void parallel_for(std::size_t n, int n_threads, const Poll& poll,
                  const std::function<void(std::size_t, const Poll&)>& task);

}  // namespace hardwood
