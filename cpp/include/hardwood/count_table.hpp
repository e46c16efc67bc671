// A function of whole counts, tabulated once a fit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace hardwood {

// The first million counts come from a table shared by all trees of a fit; larger ones are rare
// and computed.
template <class Function>
class CountTable {
 public:
  using Value = decltype(Function{}(std::int64_t{}));
  static constexpr double max_size = 1 << 20;

  CountTable(Function function, double largest_count) : function_(function) {
    auto values = std::make_shared<std::vector<Value>>(
        static_cast<std::size_t>(std::min(largest_count, max_size)) + 1);
    for (std::size_t c = 0; c < values->size(); ++c)
      (*values)[c] = function(static_cast<std::int64_t>(c));
    begin_ = values->data();
    size_ = static_cast<std::int64_t>(values->size());
    owner_ = std::move(values);
  }

  Value operator()(std::int64_t count) const {
    return count < size_ ? begin_[count] : function_(count);
  }

 private:
  Function function_;
  const Value* begin_;
  std::int64_t size_;
  std::shared_ptr<const void> owner_;
};

}  // namespace hardwood
