// The least a test needs: cases that register themselves, and checks that say what failed.
#pragma once

#include <cmath>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace check {

struct Case {
  const char* name;
  std::function<void()> run;
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Register {
  Register(const char* name, std::function<void()> run) {
    cases().push_back({name, std::move(run)});
  }
};

inline void that(bool ok, const char* what, const char* file, int line) {
  if (!ok) throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

inline bool near(double a, double b, double relative) {
  return std::abs(a - b) <= relative * std::max({1e-300, std::abs(a), std::abs(b)});
}

}  // namespace check

#define CHECK(condition) check::that(condition, #condition, __FILE__, __LINE__)
#define TEST_CASE(name)                                      \
  static void name();                                        \
  static const check::Register register_##name(#name, name); \
  static void name()
