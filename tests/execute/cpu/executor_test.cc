#include "execute/cpu/executor.h"

#include <catch2/catch.hpp>
#include <map>

#include "algebra/execution/plan.h"
#include "algebra/library/library.h"
#include "execute/gpu/gpu_evaluator.h"
#include "execute/gpu/node_body.h"
#include "execute/kernels/kernel_entry.h"
#include "execute/kernels/single_lane.h"
#include "tests/shipped_operators.h"

namespace rulemill::execute {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::uint64_t seed = 11;
constexpr std::size_t max_elements = 1024;

struct ProgramCase {
  std::string name;
  algebra::Parameters parameters;
  std::vector<Shape> inputs;
  std::vector<std::int64_t> sizes;
};

/// Odd sizes; every kind of step occurs.
std::vector<ProgramCase> cases() {
  using Axes = std::vector<std::int64_t>;
  return {
      {"matmul", {}, {{3, 7}, {7, 5}}, {}},
      {"add", {}, {{1, 1, 3}, {1, 1, 3}}, {}},
      {"mul", {}, {{5}, {5}}, {}},
      {"sub", {}, {{2, 3}, {2, 3}}, {}},
      {"scale", {}, {{7}, {}}, {}},
      {"relu", {}, {{13}}, {}},
      {"sigmoid", {}, {{3, 3}}, {}},
      {"conv2d", {{"act", "relu"}, {"pad", "same"}, {"stride", 1}}, {{1, 3, 5, 7}, {5, 3, 3, 1}}, {}},
      {"conv2d", {{"act", "none"}, {"pad", "valid"}, {"stride", 2}}, {{3, 4, 5, 5}, {6, 2, 3, 3}}, {}},
      {"avg_pool", {{"kernel", 3}, {"stride", 1}, {"pad", "same"}}, {{1, 2, 5, 3}}, {}},
      {"max_pool", {{"kernel", 3}, {"stride", 2}, {"pad", "same"}}, {{2, 1, 5, 7}}, {}},
      {"concat", {{"axis", 1}}, {{3, 2}, {3, 5}}, {}},
      {"split", {{"axis", 0}}, {{7, 3}}, {3}},
      {"transpose", {{"perm", Axes{2, 0, 1}}}, {{2, 3, 5}}, {}},
      {"enlarge", {{"rows", 5}, {"cols", 3}}, {{2, 1, 1, 3}}, {}},
      {"ones", {}, {}, {3, 5}},
      {"identity_kernel", {{"kernel", 3}}, {}, {3}},
  };
}

class ProgramFixture {
 public:
  ProgramFixture() : library(shipped_operators()), context(algebra::Domain::Field, library.functions(), seed) {}

  Program program(const ProgramCase& test_case) {
    std::vector<std::uint32_t> ranks;
    for (const Shape& shape : test_case.inputs) ranks.push_back(static_cast<std::uint32_t>(shape.size()));
    if (test_case.inputs.empty() && test_case.name == "ones")
      ranks = {static_cast<std::uint32_t>(test_case.sizes.size())};
    const algebra::OperatorInstance& instance = library.instantiate(test_case.name, test_case.parameters, ranks);
    const auto plan = algebra::compile(instance, test_case.inputs, test_case.sizes);
    REQUIRE(plan.has_value());
    return make_program(*plan, context);
  }

  algebra::Library library;
  EvaluationContext context;
};

std::size_t elements(const Shape& shape) {
  std::size_t count = 1;
  for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
  return count;
}

std::vector<std::vector<FieldPair>> random_inputs(const ProgramCase& test_case) {
  std::vector<std::vector<FieldPair>> blocks;
  for (const Shape& shape : test_case.inputs) {
    std::vector<FieldPair>& block = blocks.emplace_back(elements(shape) * block_width);
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = random_pair(blocks.size(), i);
    block[0] = 0;
    block.back() = pair_of(prime - 1, prime - 1);  // the edges of the field
  }
  return blocks;
}

struct Result {
  std::vector<Fingerprint> fingerprints;
  std::vector<FieldPair> values;
  bool operator==(const Result&) const = default;
};

Result run(const Program& program, const std::vector<std::vector<FieldPair>>& inputs, InstructionSet set) {
  const Executor executor(seed, max_elements, set);
  std::vector<const FieldPair*> pointers;
  for (const auto& block : inputs) pointers.push_back(block.data());
  Result result;
  result.fingerprints.resize(program.outputs.size() * block_width);
  result.values.resize(Executor::scratch_pairs(program));
  const std::vector<std::uint64_t> types(program.outputs.size(), 5);
  executor.run(program, pointers.data(), result.values.data(), types, result.fingerprints.data());
  return result;
}

/// The product with a 128-bit remainder.
std::uint64_t reference_product(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) * b % prime);
}

}  // namespace

TEST_CASE("field arithmetic agrees with 128-bit remainders") {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t word = random_word(1, i), a = reduce(word), b = reduce(random_word(2, i));
    CHECK(a == word % prime);
    CHECK(multiply(a, b) == reference_product(a, b));
    if (a != 0) CHECK(multiply(a, inverse(a)) == 1);
  }
  for (const std::uint64_t edge : {std::uint64_t{0}, prime - 1, prime, prime + 1, 2 * prime, ~std::uint64_t{0}}) {
    CHECK(reduce(edge) == edge % prime);
    CHECK(reduce_lanes(SingleLane{edge}).v == edge % prime);
  }
  CHECK(multiply(field_element(-1, 9), 9) == prime - 1);
}

TEST_CASE("all instruction sets compute the same bits on odd sizes") {
  ProgramFixture fixture;
  for (const ProgramCase& test_case : cases()) {
    INFO(test_case.name);
    const Program program = fixture.program(test_case);
    const auto inputs = random_inputs(test_case);
    const Result reference = run(program, inputs, InstructionSet::Scalar);
    for (const InstructionSet set : available_instruction_sets()) {
      INFO(to_string(set));
      CHECK(run(program, inputs, set) == reference);
    }
  }
}

TEST_CASE("the code of a GPU thread computes the executor's fingerprints") {
  ProgramFixture fixture;
  const Executor executor(seed, max_elements);
  for (const ProgramCase& test_case : cases()) {
    INFO(test_case.name);
    TypedProgram compiled{fixture.program(test_case), {}, {}};
    compiled.type_keys.assign(compiled.program.outputs.size(), 5);
    const auto inputs = random_inputs(test_case);
    const Result reference = run(compiled.program, inputs, InstructionSet::Scalar);
    for (const auto& block : inputs)
      compiled.input_elements.push_back(static_cast<std::uint32_t>(block.size() / block_width));
    const NodeProgram node = node_program(compiled, compiled.program.view());
    std::vector<FieldPair> scratch(std::size_t{node.scratch_elements + 1} * warp_width);
    const std::vector<std::uint32_t> strides(inputs.size() + 1, block_width);
    for (std::uint32_t lane = 0; lane < block_width; ++lane) {
      std::vector<const FieldPair*> pointers{nullptr};
      for (const auto& block : inputs) pointers.push_back(block.data() + lane);
      std::array<Fingerprint, max_outputs> found;
      ThreadOperands operands{node, pointers.data() + 1, 1, strides.data(), scratch.data()};
      run_node(operands, executor.keys().data(), found.data(), 1);
      for (std::size_t o = 0; o < compiled.program.outputs.size(); ++o) {
        CHECK(found[o] == reference.fingerprints[o * block_width + lane]);
      }
      // Values kept for a later batch are those that were hashed.
      for (std::uint32_t o = 0; o < compiled.program.outputs.size(); ++o) {
        const std::uint32_t elements = compiled.program.output_elements[o];
        std::vector<FieldPair> kept(std::size_t{elements} * warp_width);
        operands.keep = kept.data();
        operands.kept_output = o;
        run_node(operands, executor.keys().data(), found.data(), 1);
        const auto hash = hash_tensor<SingleLane>(kept.data(), warp_width, elements, 0, executor.keys().data());
        CHECK(finish_hash(hash.first.v, hash.second.v, compiled.type_keys[o]) ==
              reference.fingerprints[o * block_width + lane]);
      }
    }
  }
}

TEST_CASE("a long sum of the largest products does not overflow") {
  ProgramFixture fixture;
  const ProgramCase test_case{"matmul", {}, {{1, 1000}, {1000, 1}}, {}};
  const Program program = fixture.program(test_case);
  const std::vector<std::vector<FieldPair>> inputs(
      2, std::vector<FieldPair>(1000 * block_width, pair_of(prime - 1, prime - 1)));
  for (const InstructionSet set : available_instruction_sets()) {
    CHECK(run(program, inputs, set).values[0] == pair_of(1000, 1000));  // 1000 · (−1)(−1)
  }
}

TEST_CASE("the sums of a plan agree with summing its terms one by one") {
  ProgramFixture fixture;
  const ProgramCase test_case{
      "conv2d", {{"act", "none"}, {"pad", "same"}, {"stride", 1}}, {{1, 2, 3, 5}, {3, 2, 3, 3}}, {}};
  const algebra::OperatorInstance& instance =
      fixture.library.instantiate(test_case.name, test_case.parameters, std::vector<std::uint32_t>{4, 4});
  const auto plan = algebra::compile(instance, test_case.inputs, {});
  const auto inputs = random_inputs(test_case);
  const Result result = run(fixture.program(test_case), inputs, available_instruction_sets().back());
  const algebra::PlanStep& step = plan->steps.back();
  for (std::uint32_t e = 0; e < step.elements(); ++e) {
    std::uint64_t sum = 0;
    for (std::uint32_t t = step.rows[e]; t < step.rows[e + 1]; ++t) {
      const FieldPair x = inputs[0][step.products[t].left_element * block_width + 3],
                      k = inputs[1][step.products[t].right_element * block_width + 3];
      sum = (sum + reference_product(x >> 32, k >> 32)) % prime;
    }
    CHECK(result.values[e * block_width + 3] >> 32 == sum);
  }
}

TEST_CASE("functions over the field satisfy the laws that they declare, and no others") {
  ProgramFixture fixture;
  const auto index = [&](const std::string& name) {
    for (std::size_t f = 0; f < fixture.library.functions().size(); ++f) {
      if (fixture.library.functions()[f].name == name) return f;
    }
    FAIL("no function " + name);
    return std::size_t{0};
  };
  const FunctionKey relu = fixture.context.keys[index("relu")], sigmoid = fixture.context.keys[index("sigmoid")];
  CHECK(relu.idempotent);
  CHECK(apply_unary(relu, SingleLane{0}).v == 0);
  CHECK(apply_unary(sigmoid, SingleLane{0}).v != 0);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const SingleLane t{random_pair(3, i)};
    const SingleLane once = apply_unary(relu, t);
    CHECK(apply_unary(relu, once).v == once.v);
    CHECK(once.v != t.v);
    CHECK((once.v & lane_mask) < prime);
    CHECK(once.v >> 32 < prime);
    CHECK(apply_unary(sigmoid, apply_unary(sigmoid, t)).v != apply_unary(sigmoid, t).v);
  }
  FunctionKey symmetric{9, 0, 0, 1, 2}, ordered{9, 0, 0, 0, 2};
  const auto apply = [](const FunctionKey& f, FieldPair s, FieldPair t) {
    SingleLane row[] = {{s}, {t}};
    return apply_many<SingleLane>(f, 2, [&](std::uint32_t i) { return row[i]; }).v;
  };
  CHECK(apply(symmetric, random_pair(1, 1), random_pair(1, 2)) ==
        apply(symmetric, random_pair(1, 2), random_pair(1, 1)));
  CHECK(apply(ordered, random_pair(1, 1), random_pair(1, 2)) != apply(ordered, random_pair(1, 2), random_pair(1, 1)));
}

TEST_CASE("a maximum is independent of order and repetition; the maximum of one value is that value") {
  const SingleLane a{random_pair(4, 1)}, b{random_pair(4, 2)}, c{random_pair(4, 3)};
  const auto max = [](std::vector<SingleLane> row) {
    return apply_max<SingleLane>(77, static_cast<std::uint32_t>(row.size()), [&](std::uint32_t i) { return row[i]; }).v;
  };
  CHECK(max({a}) == a.v);
  CHECK(max({a, a, a}) == a.v);
  CHECK(max({a, b, c}) == max({c, a, b}));
  CHECK(max({a, b, b, a}) == max({a, b}));
  CHECK(max({a, b}) != max({a, c}));
  CHECK(max({}) == 0);
}

TEST_CASE("fingerprints distinguish types and values") {
  const Executor executor(seed, max_elements);
  const auto fingerprint = [&](std::vector<FieldPair> block, const Shape& shape) {
    std::array<Fingerprint, block_width> lanes;
    executor.hash(block.data(), static_cast<std::uint32_t>(block.size() / block_width), type_key(shape, seed),
                  lanes.data());
    return lanes;
  };
  std::vector<FieldPair> block(6 * block_width, pair_of(1, 2));
  const auto base = fingerprint(block, {2, 3});
  CHECK(base[0] == base[7]);
  CHECK(base[0] != fingerprint(block, {3, 2})[0]);
  for (std::size_t i = 0; i < block.size(); ++i) {
    auto changed = block;
    changed[i] ^= std::uint64_t{1} << 32;
    const auto other = fingerprint(changed, {2, 3});
    for (std::size_t lane = 0; lane < block_width; ++lane)
      CHECK((other[lane] != base[lane]) == (lane == i % block_width));
  }
}

}  // namespace rulemill::execute
