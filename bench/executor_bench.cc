// Multiply-adds per second of the plan executor, by operator and instruction set, on one core with cached operands:
// executor_bench
#include <algorithm>
#include <array>
#include <cstdio>

#include "algebra/execution/plan.h"
#include "algebra/library/library.h"
#include "execute/cpu/executor.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace {

namespace fp = rulemill::execute;
using rulemill::algebra::Parameters;
using Shape = std::vector<std::int64_t>;

struct Case {
  const char* label;
  std::string name;
  Parameters parameters;
  std::vector<Shape> inputs;
};

/// Returns multiply-adds per second, the best of several timings.
double rate(const fp::Program& program, const std::vector<std::vector<fp::FieldPair>>& blocks, fp::InstructionSet set) {
  const fp::Executor executor(1, 512, set);
  std::vector<const fp::FieldPair*> inputs;
  for (const auto& block : blocks) inputs.push_back(block.data());
  std::vector<fp::FieldPair> scratch(fp::Executor::scratch_pairs(program));
  const std::vector<std::uint64_t> types(program.outputs.size(), 1);
  std::vector<fp::Fingerprint> prints(program.outputs.size() * fp::block_width);
  const auto repeats = std::max<std::uint64_t>(10, 2'000'000 / program.products);
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const rulemill::runtime::Stopwatch watch;
    for (std::uint64_t i = 0; i < repeats; ++i)
      executor.run(program, inputs.data(), scratch.data(), types, prints.data());
    const double seconds = watch.seconds();
    best = std::max(best, static_cast<double>(repeats * program.products * fp::block_width) / seconds);
  }
  return best;
}

int run() {
  rulemill::algebra::Library library = rulemill::algebra::Library::load("data/operators");
  const fp::EvaluationContext ground(rulemill::algebra::Domain::Field, library.functions(), 1);
  const std::array<Case, 5> cases = {{
      {"conv2d 3x3", "conv2d", {{"pad", "same"}, {"act", "none"}}, {{2, 4, 5, 5}, {4, 4, 3, 3}}},
      {"conv2d 3x3 relu", "conv2d", {{"pad", "same"}, {"act", "relu"}}, {{2, 4, 5, 5}, {4, 4, 3, 3}}},
      {"matmul 4x4", "matmul", {}, {{4, 4}, {4, 4}}},
      {"add [2,4,5,5]", "add", {}, {{2, 4, 5, 5}, {2, 4, 5, 5}}},
      {"max_pool 3x3", "max_pool", {{"kernel", 3}, {"pad", "same"}}, {{2, 4, 5, 5}}},
  }};
  std::printf("%-18s", "G multiply-adds/s");
  for (const auto set : fp::available_instruction_sets()) std::printf("%10s", fp::to_string(set).c_str());
  std::printf("   (two lanes of the field each)\n");
  for (const Case& one : cases) {
    std::vector<std::uint32_t> ranks;
    std::vector<std::vector<fp::FieldPair>> blocks;
    for (const Shape& shape : one.inputs) {
      ranks.push_back(static_cast<std::uint32_t>(shape.size()));
      std::size_t elements = fp::block_width;
      for (const std::int64_t dim : shape) elements *= static_cast<std::size_t>(dim);
      auto& block = blocks.emplace_back(elements);
      for (std::size_t i = 0; i < elements; ++i) block[i] = fp::random_pair(2, i);
    }
    const auto& instance = library.instantiate(one.name, one.parameters, ranks);
    const auto plan = rulemill::algebra::compile(instance, one.inputs, {});
    const fp::Program program = fp::make_program(*plan, ground);
    std::printf("%-18s", one.label);
    for (const auto set : fp::available_instruction_sets()) std::printf("%10.2f", rate(program, blocks, set) * 1e-9);
    std::printf("\n");
  }
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const rulemill::runtime::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
