// Memory that several threads write for the first time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace hardwood {

// Leaves new elements as they are in memory, so that the thread that writes them is the first one
// to touch it: what takes longest with large arrays is their first touch. Large arrays ask the
// system for large pages: their rows are read in any order, and each small page would have to be
// looked up.
template <class T>
struct LeftAsIs : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = LeftAsIs<U>;
  };

  T* allocate(std::size_t n) {
    if (n * sizeof(T) < kLarge) return std::allocator<T>::allocate(n);
    void* memory = ::operator new(n * sizeof(T), std::align_val_t{kPage});
#if defined(MADV_HUGEPAGE)
    madvise(memory, n * sizeof(T), MADV_HUGEPAGE);  // a wish: it does not matter if it fails
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t n) {
    if (n * sizeof(T) < kLarge) return std::allocator<T>::deallocate(memory, n);
    ::operator delete(memory, std::align_val_t{kPage});
  }

  template <class U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;
  }
  template <class U, class... Arguments>
  void construct(U* p, Arguments&&... arguments) {
    ::new (static_cast<void*>(p)) U(std::forward<Arguments>(arguments)...);
  }

 private:
  static constexpr std::size_t kPage = std::size_t{1} << 21, kLarge = 2 * kPage;
};

template <class T>
using Buffer = std::vector<T, LeftAsIs<T>>;

}  // namespace hardwood
