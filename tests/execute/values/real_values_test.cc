#include "execute/values/real_values.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "algebra/execution/plan.h"
#include "algebra/library/library.h"
#include "execute/cpu/executor.h"
#include "execute/kernels/real_functions.h"
#include "tests/shipped_operators.h"

namespace rulemill::execute {
namespace {

using algebra::Domain;
using Op = algebra::Function::Op;
using Shape = std::vector<std::int64_t>;

constexpr std::uint64_t seed = 11;

/// A fixture that applies nodes over the reals to variables of chosen values.
class RealFixture {
 public:
  RealFixture()
      : library(shipped_operators()),
        context(Domain::Reals, library.functions(), seed),
        executor(seed, 64, InstructionSet::Scalar, Domain::Reals) {}

  struct Tensor {
    Shape shape;
    std::vector<FieldPair> block;
    Fingerprint fingerprint;  // of lane 3
  };

  Tensor variable(std::uint64_t key, const Shape& shape) const {
    Tensor result{shape, {}, {}};
    const auto elements = static_cast<std::uint32_t>(element_count(shape)) * real_points;
    for (std::uint32_t e = 0; e < elements; ++e) {
      for (std::uint32_t lane = 0; lane < block_width; ++lane)
        result.block.push_back(random_value(Domain::Reals, random_word(key, lane), e));
    }
    std::array<Fingerprint, block_width> lanes;
    executor.hash(result.block.data(), elements, type_key(shape, seed), lanes.data());
    result.fingerprint = lanes[3];
    return result;
  }

  Tensor apply(const std::string& name, const algebra::Parameters& parameters, const std::vector<Tensor>& inputs) {
    std::vector<std::uint32_t> ranks;
    std::vector<Shape> shapes;
    std::vector<const FieldPair*> pointers;
    for (const Tensor& input : inputs) {
      ranks.push_back(static_cast<std::uint32_t>(input.shape.size()));
      shapes.push_back(input.shape);
      pointers.push_back(input.block.data());
    }
    const algebra::OperatorInstance& instance = library.instantiate(name, parameters, ranks);
    const TypedProgram typed = compile_node(instance, shapes, {}, context, 64);
    std::vector<FieldPair> scratch(Executor::scratch_pairs(typed.program));
    std::array<Fingerprint, block_width> fingerprints;
    executor.run(typed.program, pointers.data(), scratch.data(), typed.type_keys, fingerprints.data());
    const FieldPair* output = Executor::output(typed.program, pointers.data(), scratch.data(), 0);
    const std::size_t stored = typed.program.output_elements[0];
    return {algebra::compile(instance, shapes, {})->output_shapes[0],
            std::vector<FieldPair>(output, output + stored * block_width), fingerprints[3]};
  }

  static std::int64_t element_count(const Shape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t dim : shape) count *= dim;
    return count;
  }

  algebra::Library library;
  EvaluationContext context;
  Executor executor;
};

}  // namespace

TEST_CASE("real functions agree with the C library to a few units in the last place") {
  const auto is_close = [](double found, double expected) {
    INFO(found << " for " << expected);
    return std::fabs(found - expected) <= 1e-14 * std::max(1.0, std::fabs(expected));
  };
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const double x = (static_cast<double>(random_word(5, i) >> 11) * 0x1p-53 - 0.5) * (i % 3 == 0   ? 2
                                                                                       : i % 3 == 1 ? 12
                                                                                                    : 60);
    CAPTURE(x);
    CHECK(std::fabs(real_exp(x) / std::exp(x) - 1) < 1e-14);
    CHECK(is_close(real_tanh(x), std::tanh(x)));
    CHECK(is_close(real_erf(x), std::erf(x)));
    CHECK(is_close(real_sin(x), std::sin(x)));
    CHECK(is_close(real_cos(x), std::cos(x)));
    CHECK(is_close(real_atan(x), std::atan(x)));
    if (x > 0) CHECK(is_close(real_log(x), std::log(x)));
    if (x > 0) CHECK(std::fabs(real_power(x, 2.5) / std::pow(x, 2.5) - 1) < 1e-13);
    if (x != 0) CHECK(std::fabs(real_power(x, -3) / std::pow(x, -3) - 1) < 1e-13);
    if (std::fabs(x) <= 1) CHECK(is_close(real_asin(x), std::asin(x)));
  }
  CHECK(real_exp(0) == 1);
  CHECK(real_log(1) == 0);
  CHECK(real_exp(-800) == 0);
  CHECK(is_close(real_exp(-740) * 0x1p1000, std::exp(-740.0) * 0x1p1000));
  CHECK(real_asin(1) == std::asin(1.0));
}

TEST_CASE("a function is undefined where its formula is, and undefined values propagate") {
  CHECK(std::isnan(real_step(Op::Div, 1, 0)));
  CHECK(std::isnan(real_step(Op::Log, 0, 0)));
  CHECK(std::isnan(real_step(Op::Sqrt, 0, -1)));
  CHECK(std::isnan(real_step(Op::Asin, 0, 2)));
  CHECK(std::isnan(real_step(Op::Power, -2, 0.5)));
  RealFixture fixture;
  const auto x = fixture.variable(1, {2, 3});
  const auto zero = fixture.apply("sub", {}, {x, x});
  const auto quotient = fixture.apply("div", {}, {x, zero});
  for (const FieldPair word : quotient.block) REQUIRE(word == word_of(canonical(INFINITY)));
  // Undefined, not 0, although the quotient is multiplied by 0; and the maximum with an undefined value is undefined.
  CHECK(fixture.apply("mul", {}, {quotient, zero}).fingerprint == quotient.fingerprint);
  CHECK(fixture.apply("larger", {}, {quotient, x}).fingerprint == quotient.fingerprint);
  CHECK(fixture.apply("gelu", {}, {quotient}).fingerprint == quotient.fingerprint);
  CHECK(fixture.apply("sqrt", {}, {x}).fingerprint != quotient.fingerprint);  // defined at points with positive values
}

TEST_CASE("values that differ only by rounding share a word, others do not") {
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const double size = std::ldexp(1, static_cast<int>(random_word(1, i) % 40) - 20);
    const double x = (static_cast<double>(random_word(2, i) >> 11) * 0x1p-52 - 1) * size;
    CAPTURE(x);
    CHECK(quantize(x) == quantize(x * (1 + 0x1p-51)));
    CHECK(quantize(x) != quantize(x * (1 + 0x1p-15) + std::copysign(0x1p-25, x)));
    CHECK(quantize(x) != quantize(-x - std::copysign(0x1p-25, x)));
  }
  // Numbers of few digits lie in the middle of an interval.
  for (const double x : {0.0, 1.0, -0.5, 6.0, 0.75}) {
    CHECK(quantize(x) == quantize(x + 1e-9));
    CHECK(quantize(x) == quantize(x - 1e-9));
  }
  // Words increase with the value, also across the boundary of the binary scales.
  std::int64_t before = static_cast<std::int64_t>(quantize(0x1p-9));
  for (double x = 0x1p-9; x < 3; x *= 1 + 0x1p-12) {
    const auto word = static_cast<std::int64_t>(quantize(x));
    CHECK(word >= before);
    CHECK(word <= before + 200);
    before = word;
  }
  CHECK(quantize(NAN) == quantize(INFINITY));
  for (const double x : {0.0, 1e-8, -1e-8}) CHECK(quantize(NAN) != quantize(x));
}

TEST_CASE("fingerprints over the reals confirm the laws of maxima and exponentials") {
  RealFixture fixture;
  using Axes = std::vector<std::int64_t>;
  const auto x = fixture.variable(1, {3, 4}), y = fixture.variable(2, {3, 4}), r = fixture.variable(3, {3, 1});
  const auto image = fixture.variable(4, {1, 1, 7, 8});
  const auto unary = [&](const char* name, const RealFixture::Tensor& t) { return fixture.apply(name, {}, {t}); };
  const auto binary = [&](const char* name, const RealFixture::Tensor& s, const RealFixture::Tensor& t) {
    return fixture.apply(name, {}, {s, t});
  };
  const auto row_maximum = [&](const RealFixture::Tensor& t) {
    return fixture.apply("reduce_max_keepdims", {{"axes", Axes{1}}}, {t});
  };
  const auto pool = [&](const RealFixture::Tensor& t, std::int64_t kernel) {
    return fixture.apply("max_pool", {{"kernel", kernel}, {"pad", "same"}}, {t});
  };
  const auto shifted = binary("add_column", x, r);
  CHECK(unary("softmax", shifted).fingerprint == unary("softmax", x).fingerprint);
  CHECK(row_maximum(shifted).fingerprint == binary("add", row_maximum(x), r).fingerprint);
  CHECK(unary("exp", binary("add", x, y)).fingerprint == binary("mul", unary("exp", x), unary("exp", y)).fingerprint);
  CHECK(pool(unary("relu", image), 3).fingerprint == unary("relu", pool(image, 3)).fingerprint);
  CHECK(pool(pool(image, 3), 3).fingerprint == pool(image, 5).fingerprint);
  CHECK(binary("sub", x, x).fingerprint == binary("sub", binary("add", y, x), binary("add", x, y)).fingerprint);
  // False equations have different fingerprints, even if they hold at many points.
  CHECK(unary("relu", image).fingerprint != image.fingerprint);
  CHECK(unary("relu", row_maximum(unary("exp", x))).fingerprint == row_maximum(unary("exp", x)).fingerprint);
  CHECK(unary("relu", row_maximum(x)).fingerprint != row_maximum(x).fingerprint);
  CHECK(unary("relu6", x).fingerprint != unary("relu", x).fingerprint);
  CHECK(binary("larger", x, y).fingerprint != x.fingerprint);
  CHECK(pool(image, 3).fingerprint != pool(image, 5).fingerprint);
  CHECK(unary("gelu", x).fingerprint != unary("gelu_tanh", x).fingerprint);
  CHECK(unary("softmax", shifted).fingerprint != unary("softmax", binary("add", x, y)).fingerprint);
}

TEST_CASE("a program over the reals computes what its plan defines") {
  RealFixture fixture;
  const auto x = fixture.variable(1, {1, 2, 4, 4}), k = fixture.variable(2, {3, 2, 3, 3});
  const algebra::Parameters same{{"act", "relu"}, {"pad", "same"}, {"stride", 1}};
  const auto y = fixture.apply("conv2d", same, {x, k});
  const algebra::OperatorInstance& instance =
      fixture.library.instantiate("conv2d", same, std::vector<std::uint32_t>{4, 4});
  const auto plan = algebra::compile(instance, std::vector<Shape>{x.shape, k.shape}, {});
  for (std::uint32_t point = 0; point < real_points; ++point) {
    for (std::uint32_t lane = 0; lane < block_width; ++lane) {
      const auto at = [&](const RealFixture::Tensor& tensor) {
        std::vector<double> values;
        for (std::size_t w = point * block_width + lane; w < tensor.block.size(); w += real_points * block_width)
          values.push_back(real_of(tensor.block[w]));
        return values;
      };
      const std::vector<double> image = at(x), kernel = at(k), found = at(y);
      const std::vector<std::span<const double>> inputs{image, kernel};
      const auto expected = algebra::evaluate(fixture.library.functions(), *plan, inputs)[0];
      REQUIRE(found.size() == expected.size());
      for (std::size_t e = 0; e < found.size(); ++e) CHECK(found[e] == Approx(expected[e]).margin(1e-12));
    }
  }
}

}  // namespace rulemill::execute
