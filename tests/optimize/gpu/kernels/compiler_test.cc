#include "optimize/gpu/kernels/compiler.h"

#include <catch2/catch.hpp>

#include "tests/optimize/gpu/drawn_nodes.h"
#include "tests/optimize/gpu/operator_kernels.h"

namespace rulemill::optimize::gpu {
namespace {

TEST_CASE("registers and spills are parsed from the assembler's report", "[gpu]") {
  const auto resources = parse_resource_report(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
      "ptxas info    : Function properties for first\n"
      "ptxas         .     8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads\n"
      "ptxas info    : Used 72 registers, used 0 barriers, 8 bytes cumulative stack size\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90'\n"
      "ptxas info    : Used 12 registers, used 0 barriers\n");
  REQUIRE(resources.size() == 2);
  CHECK(resources.at("first").registers == 72);
  CHECK(resources.at("first").stack_bytes == 8);
  CHECK(resources.at("first").spill_store_bytes == 16);
  CHECK(resources.at("first").spill_load_bytes == 24);
  CHECK(resources.at("first").occupancy() == Approx(28.0 / 64));
  CHECK(resources.at("second").occupancy() == 1);
}

TEST_CASE("kernels of every operator compile without spills", "[gpu][nvrtc]") {
  if (!compiler_version()) {
    WARN("SKIPPED: this build has no NVRTC");
    return;
  }
  algebra::Library library = shipped_operators();
  algebra::Symbols symbols;
  const std::vector<Kernel> kernels = make_operator_kernels(library, 1, symbols);
  const CompiledKernels compiled = compile(translation_unit(kernels, library.functions()), "sm_90");
  CHECK(compiled.machine_code.size() > 1000);
  for (const Kernel& kernel : kernels) {
    INFO(kernel.source);
    REQUIRE(compiled.resources.contains(kernel.name));
    CHECK(compiled.resources.at(kernel.name).registers > 0);
    CHECK(compiled.resources.at(kernel.name).spill_store_bytes == 0);
  }
}

TEST_CASE("a compiler error is reported in one line", "[gpu][nvrtc]") {
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
