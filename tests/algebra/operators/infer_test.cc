#include "algebra/operators/operator_instance.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "algebra/library/library.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

using Shapes = std::vector<std::vector<std::int64_t>>;

}  // namespace

TEST_CASE("the type rule rejects ill-typed inputs and infers output shapes") {
  Library library = shipped_operators();
  const std::vector<std::uint32_t> ranks = {4, 4};
  const OperatorInstance& conv = library.instantiate("conv2d", {{"stride", std::int64_t{2}}}, ranks);
  CHECK(infer(conv, Shapes{{2, 4, 5, 7}, {8, 4, 3, 3}}, {}) == Shapes{{2, 8, 3, 4}});
  CHECK(infer(conv, Shapes{{2, 4, 5, 7}, {8, 3, 3, 3}}, {}) == std::nullopt);
  const std::vector<std::uint32_t> rank2 = {2};
  const OperatorInstance& split = library.instantiate("split", {{"axis", std::int64_t{1}}}, rank2);
  CHECK(infer(split, Shapes{{2, 5}}, std::vector<std::int64_t>{2}) == Shapes{{2, 2}, {2, 3}});
  CHECK(infer(split, Shapes{{2, 5}}, std::vector<std::int64_t>{5}) == std::nullopt);
}

TEST_CASE("size parameters are at least 1 wherever the sizes in them are") {
  Library library = shipped_operators();
  const OperatorInstance& count = library.instantiate("count", {}, {});
  Symbols symbols;
  const Poly n(symbols.size("n"));
  const auto types = [&](const Poly& size) {
    return infer(count, std::vector<Shape>(), std::vector<Poly>{size}, symbols).has_value();
  };
  CHECK(types(n));
  CHECK(types(n + Poly(3)));
  CHECK_FALSE(types(n - Poly(1)));
  CHECK_FALSE(types(n - Poly(5)));
  CHECK_FALSE(types(Poly(0)));
}
