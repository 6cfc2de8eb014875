#include "runtime/process/machine.h"

#include <catch2/catch.hpp>

namespace rulemill::runtime {
namespace {

TEST_CASE("the machine's description has a host name, cores and memory") {
  const Machine machine = describe_machine();
  CHECK(machine.cores >= 1);
  CHECK(machine.cores <= machine.cores_online);
  CHECK(machine.memory_bytes > (std::uint64_t{1} << 20));
  CHECK_FALSE(machine.host.empty());
  CHECK(peak_memory_bytes() > (std::uint64_t{1} << 20));
}

}  // namespace
}  // namespace rulemill::runtime
