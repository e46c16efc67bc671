// The Python module, once for every instruction set.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"

#define HARDWOOD_STRINGIFY_(name) #name
#define HARDWOOD_STRINGIFY(name) HARDWOOD_STRINGIFY_(name)

NB_MODULE(HARDWOOD_MODULE, m) {
  // A daemon thread that still runs when Python exits, such as a server's, keeps what it holds, and
  // Python frees neither its model nor the modules that made it. nanobind would print that as
  // leaks. Nothing is lost otherwise: what the bindings hold (arrays, and a function for the time
  // of a fit) does not refer back to them.
  nanobind::set_leak_warnings(false);
  m.attr("ISA") = HARDWOOD_STRINGIFY(HARDWOOD_ISA);
  hardwood::bind_criteria(m);
  hardwood::bind_forest(m);
  hardwood::bind_parts(m);

  // What this processor can run, for the choice between the copies of this module.
  m.def("supported_isas", [] {
    std::vector<std::string> names{"baseline"};
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) names.push_back("avx2");
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      names.push_back("avx512");
#endif
    return names;
  });
}
