#include "optimize/gpu/compiler.h"

#include <catch2/catch.hpp>

#include "tests/optimize/gpu/draws.h"
#include "tests/optimize/gpu/kernels_of_all.h"

namespace rulemill::optimize::gpu {
namespace {

TEST_CASE("registers and spills are read from the assembler's report", "[gpu]") {
  const auto use = parse_report(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
      "ptxas info    : Function properties for first\n"
      "ptxas         .     8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads\n"
      "ptxas info    : Used 72 registers, used 0 barriers, 8 bytes cumulative stack size\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90'\n"
      "ptxas info    : Used 12 registers, used 0 barriers\n");
  REQUIRE(use.size() == 2);
  CHECK(use.at("first").registers == 72);
  CHECK(use.at("first").stack_bytes == 8);
  CHECK(use.at("first").spill_store_bytes == 16);
  CHECK(use.at("first").spill_load_bytes == 24);
  CHECK(use.at("first").occupancy() == Approx(28.0 / 64));
  CHECK(use.at("second").occupancy() == 1);
}

TEST_CASE("the compiler takes the kernels of every operator, and spills nothing", "[gpu][nvrtc]") {
  if (!compiler_version()) {
    WARN("SKIPPED: this build has no NVRTC");
    return;
  }
  algebra::Library library = shipped_operators();
  algebra::Symbols symbols;
  const std::vector<Kernel> kernels = kernels_of_all(library, 1, symbols);
  const Compiled made = compile(translation_unit(kernels, library.functions()), "sm_90");
  CHECK(made.machine_code.size() > 1000);
  for (const Kernel& kernel : kernels) {
    INFO(kernel.source);
    REQUIRE(made.use.contains(kernel.name));
    CHECK(made.use.at(kernel.name).registers > 0);
    CHECK(made.use.at(kernel.name).spill_store_bytes == 0);
  }
}

TEST_CASE("what the compiler refuses is said in one line", "[gpu][nvrtc]") {
  if (!compiler_version()) {
    CHECK_THROWS_WITH(compile("", "sm_90"), Catch::Contains("no CUDA libraries"));
    return;
  }
  try {
    compile("extern \"C\" __global__ void broken() { nonsense; }", "sm_90");
    FAIL("accepted");
  } catch (const runtime::Error& error) {
    CHECK_THAT(error.what(), Catch::Contains("nonsense") && !Catch::Contains("\n"));
  }
}

}  // namespace
}  // namespace rulemill::optimize::gpu
