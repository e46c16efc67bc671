#include <algorithm>

#include "check.hpp"
#include "hardwood/math.hpp"

namespace math = hardwood::math;

TEST_CASE(logarithms_are_accurate) {
  for (double x = 1e-300; x < 1e300; x *= 1.37)
    CHECK(check::near(math::log(x), std::log(x), 4e-16));
  CHECK(math::log(1) == 0);
  for (double t = 1e-18; t < 1e6; t *= 1.7)
    CHECK(check::near(math::log1p(t), std::log1p(t), 1e-15));
}

TEST_CASE(exponentials_are_accurate) {
  for (double y = -690; y < 690; y += 0.377) CHECK(check::near(math::exp(y), std::exp(y), 1e-15));
  for (double y = 1e-18; y < 300; y *= 1.3)
    CHECK(check::near(math::expm1(y), std::expm1(y), 2e-15));
  CHECK(math::expm1(0) == 0);
}

TEST_CASE(powers_are_accurate) {
  for (double x : {1.0, 2.0, 17.0, 465000.0})
    for (double p : {0.3, 1.0, 10.0 / 3, 20.0})
      CHECK(check::near(math::pow(x, p), std::pow(x, p), 1e-13));
}
