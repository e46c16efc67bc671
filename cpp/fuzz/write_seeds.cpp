// Writes the arrays of valid forests into a folder: the corpus that the fuzzer starts from.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "../tests/random_forest.hpp"
#include "stored_arrays.hpp"

int main(int n_arguments, char** arguments) {
  if (n_arguments != 2) {
    std::fprintf(stderr, "usage: write_seeds FOLDER\n");
    return 2;
  }
  std::filesystem::create_directories(arguments[1]);
  std::mt19937 rng(1);
  for (std::uint16_t i = 0; i < 60; ++i) {
    const auto bytes = random_stored_arrays(i, rng).bytes();
    std::ofstream file(std::filesystem::path(arguments[1]) / std::to_string(i), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  return 0;
}
