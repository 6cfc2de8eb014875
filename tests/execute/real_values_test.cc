#include "execute/real_values.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "algebra/execution/plan.h"
#include "algebra/library/library.h"
#include "execute/executor.h"
#include "execute/real_functions.h"

namespace rulemill::execute {
namespace {

using algebra::Domain;
using Op = algebra::Function::Op;
using Shape = std::vector<std::int64_t>;

constexpr std::uint64_t seed = 11;

/// Nodes applied one after the other over the reals, on variables whose values the tests choose.
class World {
 public:
  World()
      : library(algebra::Library::load(std::string(RULEMILL_SOURCE_DIR) + "/data/operators")),
        ground(Domain::Reals, library.functions(), seed),
        executor(seed, 64, InstructionSet::Scalar, Domain::Reals) {}

  struct Tensor {
    Shape shape;
    std::vector<Pair> block;
    Fingerprint print;  // of lane 3
  };

  Tensor variable(std::uint64_t key, const Shape& shape) const {
    Tensor made{shape, {}, {}};
    const auto elements = static_cast<std::uint32_t>(algebra_count(shape)) * real_points;
    for (std::uint32_t e = 0; e < elements; ++e) {
      for (std::uint32_t lane = 0; lane < block_width; ++lane)
        made.block.push_back(random_value(Domain::Reals, random_word(key, lane), e));
    }
    std::array<Fingerprint, block_width> lanes;
    executor.hash(made.block.data(), elements, type_key(shape, seed), lanes.data());
    made.print = lanes[3];
    return made;
  }

  Tensor apply(const std::string& name, const algebra::Parameters& parameters, const std::vector<Tensor>& inputs) {
    std::vector<std::uint32_t> ranks;
    std::vector<Shape> shapes;
    std::vector<const Pair*> pointers;
    for (const Tensor& input : inputs) {
      ranks.push_back(static_cast<std::uint32_t>(input.shape.size()));
      shapes.push_back(input.shape);
      pointers.push_back(input.block.data());
    }
    const algebra::Instance& instance = library.instantiate(name, parameters, ranks);
    const TypedProgram typed = compile_node(instance, shapes, {}, ground, 64);
    std::vector<Pair> scratch(Executor::scratch_pairs(typed.program));
    std::array<Fingerprint, block_width> prints;
    executor.run(typed.program, pointers.data(), scratch.data(), typed.type_keys, prints.data());
    const Pair* output = Executor::output(typed.program, pointers.data(), scratch.data(), 0);
    const std::size_t stored = typed.program.output_elements[0];
    return {algebra::compile(instance, shapes, {})->output_shapes[0],
            std::vector<Pair>(output, output + stored * block_width), prints[3]};
  }

  static std::int64_t algebra_count(const Shape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t dim : shape) count *= dim;
    return count;
  }

  algebra::Library library;
  Ground ground;
  Executor executor;
};

}  // namespace

TEST_CASE("functions of reals are those of the C library, to some units in the last place") {
  const auto near = [](double found, double expected) {
    INFO(found << " for " << expected);
    return std::fabs(found - expected) <= 1e-14 * std::max(1.0, std::fabs(expected));
  };
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const double x = (static_cast<double>(random_word(5, i) >> 11) * 0x1p-53 - 0.5) * (i % 3 == 0   ? 2
                                                                                       : i % 3 == 1 ? 12
                                                                                                    : 60);
    CAPTURE(x);
    CHECK(std::fabs(real_exp(x) / std::exp(x) - 1) < 1e-14);
    CHECK(near(real_tanh(x), std::tanh(x)));
    CHECK(near(real_erf(x), std::erf(x)));
    CHECK(near(real_sin(x), std::sin(x)));
    CHECK(near(real_cos(x), std::cos(x)));
    CHECK(near(real_atan(x), std::atan(x)));
    if (x > 0) CHECK(near(real_log(x), std::log(x)));
    if (x > 0) CHECK(std::fabs(real_power(x, 2.5) / std::pow(x, 2.5) - 1) < 1e-13);
    if (x != 0) CHECK(std::fabs(real_power(x, -3) / std::pow(x, -3) - 1) < 1e-13);
    if (std::fabs(x) <= 1) CHECK(near(real_asin(x), std::asin(x)));
  }
  CHECK(real_exp(0) == 1);
  CHECK(real_log(1) == 0);
  CHECK(real_exp(-800) == 0);
  CHECK(near(real_exp(-740) * 0x1p1000, std::exp(-740.0) * 0x1p1000));
  CHECK(real_asin(1) == std::asin(1.0));
}

TEST_CASE("a function is undefined where its formula is, and so is all that takes part") {
  CHECK(std::isnan(real_step(Op::Div, 1, 0)));
  CHECK(std::isnan(real_step(Op::Log, 0, 0)));
  CHECK(std::isnan(real_step(Op::Sqrt, 0, -1)));
  CHECK(std::isnan(real_step(Op::Asin, 0, 2)));
  CHECK(std::isnan(real_step(Op::Power, -2, 0.5)));
  World world;
  const auto x = world.variable(1, {2, 3});
  const auto zero = world.apply("sub", {}, {x, x});
  const auto quotient = world.apply("div", {}, {x, zero});
  for (const Pair word : quotient.block) REQUIRE(word == word_of(canonical(INFINITY)));
  // Not 0, though the quotient is multiplied with 0; and the largest of a row, whatever else is in it.
  CHECK(world.apply("mul", {}, {quotient, zero}).print == quotient.print);
  CHECK(world.apply("larger", {}, {quotient, x}).print == quotient.print);
  CHECK(world.apply("gelu", {}, {quotient}).print == quotient.print);
  CHECK(world.apply("sqrt", {}, {x}).print != quotient.print);  // defined at positive points
}

TEST_CASE("values that rounding has parted share a word, others do not") {
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const double size = std::ldexp(1, static_cast<int>(random_word(1, i) % 40) - 20);
    const double x = (static_cast<double>(random_word(2, i) >> 11) * 0x1p-52 - 1) * size;
    CAPTURE(x);
    CHECK(rounded_word(x) == rounded_word(x * (1 + 0x1p-51)));
    CHECK(rounded_word(x) != rounded_word(x * (1 + 0x1p-15) + std::copysign(0x1p-25, x)));
    CHECK(rounded_word(x) != rounded_word(-x - std::copysign(0x1p-25, x)));
  }
  // Exact numbers lie in the middle.
  for (const double x : {0.0, 1.0, -0.5, 6.0, 0.75}) {
    CHECK(rounded_word(x) == rounded_word(x + 1e-9));
    CHECK(rounded_word(x) == rounded_word(x - 1e-9));
  }
  // Of a rising number the words rise, also from one piece of the scale to the next.
  std::int64_t before = static_cast<std::int64_t>(rounded_word(0x1p-9));
  for (double x = 0x1p-9; x < 3; x *= 1 + 0x1p-12) {
    const auto word = static_cast<std::int64_t>(rounded_word(x));
    CHECK(word >= before);
    CHECK(word <= before + 200);
    before = word;
  }
  CHECK(rounded_word(NAN) == rounded_word(INFINITY));
  for (const double x : {0.0, 1e-8, -1e-8}) CHECK(rounded_word(NAN) != rounded_word(x));
}

TEST_CASE("laws of maxima and exponentials show in fingerprints over the reals") {
  World world;
  using Axes = std::vector<std::int64_t>;
  const auto x = world.variable(1, {3, 4}), y = world.variable(2, {3, 4}), r = world.variable(3, {3, 1});
  const auto image = world.variable(4, {1, 1, 7, 8});
  const auto one = [&](const char* name, const World::Tensor& t) { return world.apply(name, {}, {t}); };
  const auto two = [&](const char* name, const World::Tensor& s, const World::Tensor& t) {
    return world.apply(name, {}, {s, t});
  };
  const auto top = [&](const World::Tensor& t) { return world.apply("max_kept", {{"axes", Axes{1}}}, {t}); };
  const auto pool = [&](const World::Tensor& t, std::int64_t kernel) {
    return world.apply("max_pool", {{"kernel", kernel}, {"pad", "same"}}, {t});
  };
  const auto shifted = two("add_column", x, r);
  CHECK(one("softmax", shifted).print == one("softmax", x).print);
  CHECK(top(shifted).print == two("add", top(x), r).print);
  CHECK(one("exp", two("add", x, y)).print == two("mul", one("exp", x), one("exp", y)).print);
  CHECK(pool(one("relu", image), 3).print == one("relu", pool(image, 3)).print);
  CHECK(pool(pool(image, 3), 3).print == pool(image, 5).print);
  CHECK(two("sub", x, x).print == two("sub", two("add", y, x), two("add", x, y)).print);
  // What is false stays apart, also where it holds at many points.
  CHECK(one("relu", image).print != image.print);
  CHECK(one("relu", top(one("exp", x))).print == top(one("exp", x)).print);
  CHECK(one("relu", top(x)).print != top(x).print);
  CHECK(one("relu6", x).print != one("relu", x).print);
  CHECK(two("larger", x, y).print != x.print);
  CHECK(pool(image, 3).print != pool(image, 5).print);
  CHECK(one("gelu", x).print != one("gelu_tanh", x).print);
  CHECK(one("softmax", shifted).print != one("softmax", two("add", x, y)).print);
}

TEST_CASE("a program over the reals computes what a plan says") {
  World world;
  const auto x = world.variable(1, {1, 2, 4, 4}), k = world.variable(2, {3, 2, 3, 3});
  const algebra::Parameters same{{"act", "relu"}, {"pad", "same"}, {"stride", 1}};
  const auto y = world.apply("conv2d", same, {x, k});
  const algebra::Instance& instance = world.library.instantiate("conv2d", same, std::vector<std::uint32_t>{4, 4});
  const auto plan = algebra::compile(instance, std::vector<Shape>{x.shape, k.shape}, {});
  for (std::uint32_t point = 0; point < real_points; ++point) {
    for (std::uint32_t lane = 0; lane < block_width; ++lane) {
      const auto at = [&](const World::Tensor& tensor) {
        std::vector<double> values;
        for (std::size_t w = point * block_width + lane; w < tensor.block.size(); w += real_points * block_width)
          values.push_back(real_of(tensor.block[w]));
        return values;
      };
      const std::vector<double> image = at(x), kernel = at(k), found = at(y);
      const std::vector<std::span<const double>> inputs{image, kernel};
      const auto expected = algebra::evaluate(world.library.functions(), *plan, inputs)[0];
      REQUIRE(found.size() == expected.size());
      for (std::size_t e = 0; e < found.size(); ++e) CHECK(found[e] == Approx(expected[e]).margin(1e-12));
    }
  }
}

}  // namespace rulemill::execute
