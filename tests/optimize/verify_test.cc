#include "optimize/verify.h"

#include <catch2/catch.hpp>

#include "tests/optimize/graphs.h"

namespace rulemill::optimize {
namespace {

using Verdict = Judgement::Verdict;

/// One output each.
Judgement judge(const Workshop& shop, ValueId before, ValueId after, const VerifyOptions& options = {}) {
  return verify(shop.bank, std::span(&before, 1), std::span(&after, 1), options);
}

TEST_CASE("two ways to compute the same are equal, on as many inputs as were asked for", "[verify]") {
  Workshop shop;
  const ValueId x = shop.input("x", {shop.size("n"), 8}), a = shop.weight("a", {8, 4}), b = shop.weight("b", {4, 6});
  const ValueId before = shop.op("matmul", {shop.op("matmul", {x, a}), b});
  const ValueId after = shop.op("matmul", {x, shop.op("matmul", {a, b})});
  const Judgement result =
      judge(shop, before, after, {.seeds = 5, .acceptance = {}, .sizes = {{shop.symbols.size("n"), 10}}});
  CHECK(result.verdict == Verdict::Equal);
  CHECK(result.inputs == 5);
  CHECK(result.tensors == 5);
  CHECK(result.elements == 5 * 10 * 6);
  CHECK(result.worst < 1e-5);
}

TEST_CASE("a difference is told with output, input, element and numbers", "[verify]") {
  Workshop shop;
  const ValueId x = shop.input("x", {2, 2}), before = shop.op("relu", {x});
  const std::vector<ValueId> graph{before, x},
      other{before, shop.op("transpose", {x}, {{"perm", std::vector<std::int64_t>{1, 0}}})};
  shop.bank.set_name(x, "x");
  const Judgement result = verify(shop.bank, graph, other, {});
  CHECK(result.verdict == Verdict::Different);
  CHECK_THAT(result.reason, Catch::StartsWith("output x, input 0, element 1: ") && Catch::Contains(" became "));
}

TEST_CASE("what is further off than a few times the original's own error is different", "[verify]") {
  Workshop shop;
  const ValueId x = shop.input("x", {64}), one = shop.op("scale", {x, shop.weight("one", {}, {1})});
  const auto scaled = [&](float by) { return shop.op("scale", {x, shop.weight("by" + std::to_string(by), {}, {by})}); };
  const Judgement near = judge(shop, one, scaled(1 + 0x1p-23F));  // three roundings, the original has none
  CHECK(near.verdict == Verdict::Equal);
  CHECK(near.errors.before == 0);
  CHECK(near.errors.after > 0x1p-24);
  CHECK(near.errors.after <= 0x1p-22);
  CHECK(near.worst == near.errors.after);
  // A tenth of the tolerance, but the original is exact.
  CHECK(judge(shop, one, scaled(1.00001f)).verdict == Verdict::Different);
}

TEST_CASE("where the original itself is far off, the result may be", "[verify]") {
  Workshop shop;
  // 1000 + x - 1000 loses x's last digits, which the other order keeps.
  const ValueId x = shop.input("x", {256}), far = shop.weight("far", {256}, std::vector<double>(256, 1000));
  const auto there_and_back = [&](ValueId value) {
    return shop.op("mul", {shop.op("sub", {shop.op("add", {value, far}), far}), x});
  };
  const ValueId half = shop.weight("half", {}, {0.5}), two = shop.weight("two", {}, {2});
  const ValueId before = there_and_back(x);
  const ValueId after = shop.op("mul", {shop.op("scale", {there_and_back(shop.op("scale", {x, half})), two}), x});
  const Judgement result = judge(shop, shop.op("mul", {before, x}), after);
  CHECK(result.verdict == Verdict::Equal);
  CHECK(result.worst > 1e-5);
  CHECK(result.errors.before > 1e-5);
  CHECK(result.errors.after <= Acceptance{}.own_error * (result.errors.before + 0x1p-24));
}

TEST_CASE("float64 is held against itself", "[verify]") {
  Workshop shop;
  const ValueId x = shop.bank.input("x", ValueType(algebra::Shape{64}, Element::Float64));
  const auto scaled = [&](double by) {
    return shop.op("scale", {x, shop.bank.constant("by", tensor({}, {by}), Element::Float64)});
  };
  CHECK(judge(shop, scaled(1), scaled(1 + 0x1p-50)).verdict == Verdict::Equal);
  CHECK(judge(shop, scaled(1), scaled(1 + 0x1p-24)).verdict == Verdict::Different);
}

TEST_CASE("short numbers may be off by four of their own roundings", "[verify]") {
  Workshop shop;
  const auto verdict = [&](Element element, float roundings, float rounding) {
    const std::string name = std::to_string(static_cast<int>(element)) + "x" + std::to_string(roundings);
    const ValueId x = shop.bank.input(name, ValueType(algebra::Shape{64}, element));
    const auto scaled = [&](float by) {
      return shop.op("scale", {x, shop.bank.constant("by", tensor({}, {by}), element)});
    };
    return judge(shop, scaled(1), scaled(1 + roundings * rounding)).verdict;
  };
  CHECK(verdict(Element::Float16, 2, 0x1p-11F) == Verdict::Equal);
  CHECK(verdict(Element::Float16, 5, 0x1p-11F) == Verdict::Different);
  CHECK(verdict(Element::BFloat16, 2, 0x1p-8F) == Verdict::Equal);
  CHECK(verdict(Element::BFloat16, 5, 0x1p-8F) == Verdict::Different);
  CHECK(verdict(Element::Float32, 1, 0x1p-11F) == Verdict::Different);
}

TEST_CASE("the same term is not compared with itself", "[verify]") {
  Workshop shop;
  const ValueId y = shop.op("relu", {shop.input("x", {4})});
  const Judgement result = judge(shop, y, y);
  CHECK(result.verdict == Verdict::Equal);
  CHECK(result.tensors == 0);
}

TEST_CASE("a number that stands where there was none is a difference", "[verify]") {
  Workshop shop;
  const ValueId x = shop.input("x", {64});
  const ValueId before = shop.op("sqrt", {x}), after = shop.op("sqrt", {shop.op("relu", {x})});
  CHECK(judge(shop, before, after).verdict == Verdict::Different);
  CHECK(judge(shop, after, before).verdict == Verdict::Different);
}

TEST_CASE("values that show nothing verify nothing", "[verify]") {
  Workshop shop;
  const ValueId x = shop.input("x", {8}), least = shop.weight("least", {8}, std::vector<double>(8, 1));
  const ValueId never = shop.op("sqrt", {shop.op("neg", {shop.op("add", {shop.op("relu", {x}), least})})});
  const Judgement nan = judge(shop, shop.op("add", {never, x}), shop.op("add", {never, shop.op("neg", {x})}));
  CHECK(nan.verdict == Verdict::NotVerified);
  CHECK_THAT(nan.reason, Catch::Contains("mostly NaN"));
  CHECK(nan.inputs > 3);  // others were tried
  // Always zero.
  const ValueId zero = shop.op("relu", {shop.op("neg", {shop.op("relu", {x})})});
  CHECK(judge(shop, zero, shop.op("mul", {zero, zero})).verdict == Verdict::NotVerified);
}

TEST_CASE("what is zero on small inputs is shown by larger ones", "[verify]") {
  Workshop shop;
  const ValueId x = shop.input("x", {64}), far = shop.weight("far", {64}, std::vector<double>(64, 50));
  const ValueId past = shop.op("relu", {shop.op("sub", {x, far})});
  const Judgement result = judge(shop, past, shop.op("scale", {past, shop.weight("two", {}, {2})}));
  CHECK(result.verdict == Verdict::Different);
  CHECK(judge(shop, past, shop.op("relu", {past})).verdict == Verdict::Equal);
}

TEST_CASE("an unknown node's outputs are the same on both sides, and its inputs are compared", "[verify]") {
  Workshop shop;
  const ValueId x = shop.input("x", {4, 4}), a = shop.weight("a", {4, 4}), b = shop.weight("b", {4, 4});
  const ValueId one = shop.op("matmul", {shop.op("matmul", {x, a}), b});
  const ValueId other = shop.op("matmul", {x, shop.op("matmul", {a, b})});
  const auto through = [&](const std::string& key, ValueId value) {
    return shop.op("relu", {shop.opaque(key, {value}, algebra::Shape{4, 4})});
  };
  const Judgement result = judge(shop, through("secret", one), through("secret", other));
  CHECK(result.verdict == Verdict::Equal);
  CHECK(result.tensors == 2 * 3);  // what goes in, and the output
  const Judgement changed = judge(shop, through("secret", one), through("secret", x));
  CHECK(changed.verdict == Verdict::Different);
  CHECK_THAT(changed.reason, Catch::StartsWith("value "));
  const Judgement added = judge(shop, through("secret", one), through("another", one));
  CHECK(added.verdict == Verdict::Different);
  CHECK_THAT(added.reason, Catch::Contains("not known appears"));
}

TEST_CASE("sizes that nobody gave are drawn, so that what holds at one size is not enough", "[verify]") {
  Workshop shop;
  // The diagonal of a matrix is all of it where it has one row.
  const ValueId x = shop.input("x", {shop.size("n"), shop.size("n")});
  const ValueId diagonal = shop.op("mul", {x, shop.op("identity", {}, {}, {shop.size("n")})});
  VerifyOptions at_one;
  at_one.sizes = {{shop.symbols.size("n"), 1}};
  const ValueId whole = shop.op("scale", {x, shop.weight("one", {}, {1})});
  CHECK(judge(shop, diagonal, whole, at_one).verdict == Verdict::Equal);
  CHECK(judge(shop, diagonal, whole).verdict == Verdict::Different);
}

TEST_CASE("sizes change from input to input", "[verify]") {
  Workshop shop;
  // Rows of means, and of sums over three: the same where rows have three elements, which is the first size tried.
  const algebra::Poly n = shop.size("n");
  const ValueId x = shop.input("x", {5, n}), identity = shop.op("identity", {}, {}, {n});
  const ValueId ones = shop.op("exp", {shop.op("sub", {identity, identity})});
  const ValueId mean = shop.op("matmul", {x, shop.op("div", {ones, shop.op("matmul", {ones, ones})})});
  const ValueId third = shop.op("scale", {shop.op("matmul", {x, ones}), shop.weight("third", {}, {1.0f / 3})});
  CHECK(judge(shop, mean, third, {.seeds = 1, .acceptance = {}, .sizes = {}}).verdict == Verdict::Equal);
  const Judgement result = judge(shop, mean, third);
  CHECK(result.verdict == Verdict::Different);
  CHECK_THAT(result.reason, Catch::Contains("input 1"));
}

TEST_CASE("what is too large for the definitions is not verified, and nothing is computed", "[verify]") {
  Workshop shop;
  const ValueId x = shop.input("x", {1 << 15, 1 << 15}), y = shop.op("relu", {x});
  const Judgement result = judge(shop, y, shop.op("relu", {y}));
  CHECK(result.verdict == Verdict::NotVerified);
  CHECK_THAT(result.reason, Catch::Contains("too large"));
  CHECK(result.elements == 0);
}

}  // namespace
}  // namespace rulemill::optimize
