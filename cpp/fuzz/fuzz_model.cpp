// libFuzzer on the arrays of model files: see docs/reliability.md.
#include <cstring>

#include "use_arrays.hpp"

using namespace hardwood::fuzz;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  use(StoredArrays::from({data, size}));
  return 0;
}

// Half of the time bytes are changed anyhow, else one array or two.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  std::mt19937 rng(seed);
  if (rng() % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  StoredArrays arrays = StoredArrays::from({data, size});
  for (auto n = 1 + rng() % 2; n-- > 0;) change_a_little(arrays, rng);
  const auto bytes = arrays.bytes();
  if (bytes.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
