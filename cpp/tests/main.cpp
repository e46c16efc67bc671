#include "check.hpp"

int main() {
  int passed = 0, failed = 0;
  for (const auto& test : check::cases()) {
    try {
      test.run();
      ++passed;
    } catch (const std::exception& error) {
      std::printf("FAILED %s: %s\n", test.name, error.what());
      ++failed;
    }
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
