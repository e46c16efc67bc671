// Memory that several threads write for the first time.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace hardwood {

// Leaves new elements as they are in memory, so that the thread that writes them is the first one
// to touch it: what takes longest with large arrays is their first touch.
template <class T>
struct LeftAsIs : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = LeftAsIs<U>;
  };
  template <class U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;
  }
  template <class U, class... Arguments>
  void construct(U* p, Arguments&&... arguments) {
    ::new (static_cast<void*>(p)) U(std::forward<Arguments>(arguments)...);
  }
};

template <class T>
using Buffer = std::vector<T, LeftAsIs<T>>;

}  // namespace hardwood
