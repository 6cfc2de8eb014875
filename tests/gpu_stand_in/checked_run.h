// A test's use of the stand-in: begins with planned failures, and ends without a wrong use or a leak.
#pragma once

#include <catch2/catch.hpp>

#include "tests/gpu_stand_in/stand_in.h"

namespace rulemill::gpu_stand_in {

class CheckedRun {
 public:
  explicit CheckedRun(const std::string& faults = "") { plan(parse_faults(faults)); }
  ~CheckedRun() {
    CHECK(violations() == std::vector<std::string>());
    CHECK(leaks() == std::vector<std::string>());
    plan({});
  }
  CheckedRun(const CheckedRun&) = delete;
  CheckedRun& operator=(const CheckedRun&) = delete;
};

}  // namespace rulemill::gpu_stand_in
