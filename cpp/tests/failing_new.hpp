// Allocations that can be made to fail.
#pragma once

namespace failing_new {

// The (n + 1)-th allocation from now on throws std::bad_alloc.
void fail_after(long n);

// Lets all allocations succeed again, and returns whether one has failed.
bool stop();

}  // namespace failing_new
