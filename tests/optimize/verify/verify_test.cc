#include "optimize/verify/verify.h"

#include <catch2/catch.hpp>

#include "optimize/model/value_range.h"
#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize {
namespace {

using Verdict = VerificationResult::Verdict;

/// Verifies graphs of one output.
VerificationResult verify_one(const GraphFixture& fixture, ValueId before, ValueId after,
                              const VerificationOptions& options = {}, const GraphEvaluator::Sizes& sizes = {}) {
  return verify(fixture.bank, std::span(&before, 1), std::span(&after, 1), options, sizes);
}

TEST_CASE("equivalent graphs are equal on the requested number of inputs", "[verify]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {fixture.size("n"), 8}), a = fixture.weight("a", {8, 4}),
                b = fixture.weight("b", {4, 6});
  const ValueId before = fixture.op("matmul", {fixture.op("matmul", {x, a}), b});
  const ValueId after = fixture.op("matmul", {x, fixture.op("matmul", {a, b})});
  const VerificationResult result =
      verify_one(fixture, before, after, {.inputs = 5, .accuracy = {}, .by_rules = {}, .onnxruntime = {}},
                 {{fixture.symbols.size("n"), 10}});
  CHECK(result.verdict == Verdict::Equal);
  CHECK(result.inputs == 5);
  CHECK(result.tensors == 5);
  CHECK(result.elements == 5 * 10 * 6);
  CHECK(result.max_relative_difference < 1e-5);
}

TEST_CASE("a difference is reported with output, input, element and values", "[verify]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {2, 2}), before = fixture.op("relu", {x});
  const std::vector<ValueId> graph{before, x},
      other{before, fixture.op("transpose", {x}, {{"perm", std::vector<std::int64_t>{1, 0}}})};
  fixture.bank.set_name(x, "x");
  const VerificationResult result = verify(fixture.bank, graph, other, {});
  CHECK(result.verdict == Verdict::Different);
  CHECK_THAT(result.reason, Catch::StartsWith("output x, input 0, element 1: ") && Catch::Contains(" became "));
}

TEST_CASE("a result with more than the allowed multiple of the original's error is different", "[verify]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {64}), one = fixture.op("scale", {x, fixture.weight("one", {}, {1})});
  const auto scaled = [&](float by) {
    return fixture.op("scale", {x, fixture.weight("by" + std::to_string(by), {}, {by})});
  };
  const VerificationResult near =
      verify_one(fixture, one, scaled(1 + 0x1p-23F));  // three roundings; the original is exact
  CHECK(near.verdict == Verdict::Equal);
  CHECK(near.errors.before == 0);
  CHECK(near.errors.after > 0x1p-24);
  CHECK(near.errors.after <= 0x1p-22);
  CHECK(near.max_relative_difference == near.errors.after);
  // Within a tenth of the tolerance, but the original is exact.
  CHECK(verify_one(fixture, one, scaled(1.00001f)).verdict == Verdict::Different);
}

TEST_CASE("a result may have a large error if the original has one", "[verify]") {
  GraphFixture fixture;
  // 1000 + x - 1000 rounds x.
  const ValueId x = fixture.input("x", {256}), far = fixture.weight("far", {256}, std::vector<double>(256, 1000));
  const auto round_trip = [&](ValueId value) {
    return fixture.op("mul", {fixture.op("sub", {fixture.op("add", {value, far}), far}), x});
  };
  const ValueId half = fixture.weight("half", {}, {0.5}), two = fixture.weight("two", {}, {2});
  const ValueId before = round_trip(x);
  const ValueId after = fixture.op("mul", {fixture.op("scale", {round_trip(fixture.op("scale", {x, half})), two}), x});
  const VerificationResult result = verify_one(fixture, fixture.op("mul", {before, x}), after);
  CHECK(result.verdict == Verdict::Equal);
  CHECK(result.max_relative_difference > 1e-5);
  CHECK(result.errors.before > 1e-5);
  CHECK(result.errors.after <= AccuracyPolicy{}.max_error_ratio * (result.errors.before + 0x1p-24));
}

TEST_CASE("float64 results are compared with the tolerance", "[verify]") {
  GraphFixture fixture;
  const ValueId x = fixture.bank.input("x", ValueType(algebra::Shape{64}, DataType::Float64));
  const auto scaled = [&](double by) {
    return fixture.op("scale", {x, fixture.bank.constant("by", tensor({}, {by}), DataType::Float64)});
  };
  CHECK(verify_one(fixture, scaled(1), scaled(1 + 0x1p-50)).verdict == Verdict::Equal);
  CHECK(verify_one(fixture, scaled(1), scaled(1 + 0x1p-24)).verdict == Verdict::Different);
}

TEST_CASE("narrow types may differ by a multiple of their unit roundoff", "[verify]") {
  GraphFixture fixture;
  const auto verdict = [&](DataType element, float roundings, float rounding) {
    const std::string name = std::to_string(static_cast<int>(element)) + "x" + std::to_string(roundings);
    const ValueId x = fixture.bank.input(name, ValueType(algebra::Shape{64}, element));
    const auto scaled = [&](float by) {
      return fixture.op("scale", {x, fixture.bank.constant("by", tensor({}, {by}), element)});
    };
    return verify_one(fixture, scaled(1), scaled(1 + roundings * rounding)).verdict;
  };
  CHECK(verdict(DataType::Float16, 2, 0x1p-11F) == Verdict::Equal);
  CHECK(verdict(DataType::Float16, 5, 0x1p-11F) == Verdict::Different);
  CHECK(verdict(DataType::BFloat16, 2, 0x1p-8F) == Verdict::Equal);
  CHECK(verdict(DataType::BFloat16, 5, 0x1p-8F) == Verdict::Different);
  CHECK(verdict(DataType::Float32, 1, 0x1p-11F) == Verdict::Different);
}

TEST_CASE("identical terms are not compared", "[verify]") {
  GraphFixture fixture;
  const ValueId y = fixture.op("relu", {fixture.input("x", {4})});
  const VerificationResult result = verify_one(fixture, y, y);
  CHECK(result.verdict == Verdict::Equal);
  CHECK(result.tensors == 0);
}

TEST_CASE("NaN at different positions is a difference", "[verify]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {64});
  const ValueId before = fixture.op("sqrt", {x}), after = fixture.op("sqrt", {fixture.op("relu", {x})});
  CHECK(verify_one(fixture, before, after).verdict == Verdict::Different);
  CHECK(verify_one(fixture, after, before).verdict == Verdict::Different);
}

TEST_CASE("uninformative values verify nothing", "[verify]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {8}), least = fixture.weight("least", {8}, std::vector<double>(8, 1));
  const ValueId never = fixture.op("sqrt", {fixture.op("neg", {fixture.op("add", {fixture.op("relu", {x}), least})})});
  const VerificationResult nan =
      verify_one(fixture, fixture.op("add", {never, x}), fixture.op("add", {never, fixture.op("neg", {x})}));
  CHECK(nan.verdict == Verdict::NotVerified);
  CHECK_THAT(nan.reason, Catch::Contains("mostly NaN"));
  CHECK(nan.inputs > 3);  // more inputs were tried
  // Always zero.
  const ValueId zero = fixture.op("relu", {fixture.op("neg", {fixture.op("relu", {x})})});
  CHECK(verify_one(fixture, zero, fixture.op("mul", {zero, zero})).verdict == Verdict::NotVerified);
}

TEST_CASE("a value that is zero on small inputs is verified on larger ones", "[verify]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {64}), far = fixture.weight("far", {64}, std::vector<double>(64, 50));
  const ValueId past = fixture.op("relu", {fixture.op("sub", {x, far})});
  const VerificationResult result =
      verify_one(fixture, past, fixture.op("scale", {past, fixture.weight("two", {}, {2})}));
  CHECK(result.verdict == Verdict::Different);
  CHECK(verify_one(fixture, past, fixture.op("relu", {past})).verdict == Verdict::Equal);
}

TEST_CASE("outputs of an opaque node are equal in both graphs, and its inputs are compared", "[verify]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {4, 4}), a = fixture.weight("a", {4, 4}), b = fixture.weight("b", {4, 4});
  const ValueId one = fixture.op("matmul", {fixture.op("matmul", {x, a}), b});
  const ValueId other = fixture.op("matmul", {x, fixture.op("matmul", {a, b})});
  const auto through = [&](const std::string& key, ValueId value) {
    return fixture.op("relu", {fixture.opaque(key, {value}, algebra::Shape{4, 4})});
  };
  const VerificationResult result = verify_one(fixture, through("secret", one), through("secret", other));
  CHECK(result.verdict == Verdict::Equal);
  CHECK(result.tensors == 2 * 3);  // the input of the opaque node and the output
  const VerificationResult changed = verify_one(fixture, through("secret", one), through("secret", x));
  CHECK(changed.verdict == Verdict::Different);
  CHECK_THAT(changed.reason, Catch::StartsWith("value "));
  const VerificationResult added = verify_one(fixture, through("secret", one), through("another", one));
  CHECK(added.verdict == Verdict::Different);
  CHECK_THAT(added.reason, Catch::Contains("opaque node was added"));
}

TEST_CASE("dynamic dimensions that are not set get several sizes", "[verify]") {
  GraphFixture fixture;
  // The diagonal of a matrix with one row is the whole matrix.
  const ValueId x = fixture.input("x", {fixture.size("n"), fixture.size("n")});
  const ValueId diagonal = fixture.op("mul", {x, fixture.op("identity", {}, {}, {fixture.size("n")})});
  const GraphEvaluator::Sizes at_one{{fixture.symbols.size("n"), 1}};
  const ValueId whole = fixture.op("scale", {x, fixture.weight("one", {}, {1})});
  CHECK(verify_one(fixture, diagonal, whole, {}, at_one).verdict == Verdict::Equal);
  CHECK(verify_one(fixture, diagonal, whole).verdict == Verdict::Different);
}

TEST_CASE("sizes vary with the input", "[verify]") {
  GraphFixture fixture;
  // The mean of a row equals a third of its sum for three elements, which is the first size tried.
  const algebra::Poly n = fixture.size("n");
  const ValueId x = fixture.input("x", {5, n}), identity = fixture.op("identity", {}, {}, {n});
  const ValueId ones = fixture.op("exp", {fixture.op("sub", {identity, identity})});
  const ValueId mean = fixture.op("matmul", {x, fixture.op("div", {ones, fixture.op("matmul", {ones, ones})})});
  const ValueId third = fixture.op("scale", {fixture.op("matmul", {x, ones}), fixture.weight("third", {}, {1.0f / 3})});
  const GraphEvaluator::Sizes at_three{{fixture.symbols.size("n"), 3}};
  CHECK(verify_one(fixture, mean, third, {}, at_three).verdict == Verdict::Equal);
  const VerificationResult result = verify_one(fixture, mean, third);
  CHECK(result.verdict == Verdict::Different);
  CHECK_THAT(result.reason, Catch::Contains("input 1"));
}

TEST_CASE("a result whose 16-bit values overflow where the model's are finite is different", "[verify]") {
  GraphFixture fixture;
  const ValueId q = fixture.input("q", {fixture.size("n"), 64}, DataType::Float16),
                k = fixture.input("k", {64, 8}, DataType::Float16),
                eighth = fixture.bank.constant("eighth", tensor({}, {0.125}), DataType::Float16);
  const ValueId before = fixture.op("matmul", {fixture.op("scale", {q, eighth}), k});
  const ValueId after = fixture.op("scale", {fixture.op("matmul", {q, k}), eighth});
  CHECK_THAT(verify_one(fixture, before, after).reason, Catch::Contains("overflows"));
  CHECK(verify_one(fixture, after, before).is_equal());
}

TEST_CASE("small 16-bit values that a result rounds to zero are a difference", "[verify]") {
  GraphFixture fixture;
  const auto number = [&](const std::string& name, double value) {
    return fixture.bank.constant(name, tensor({}, {value}), DataType::Float16);
  };
  const ValueId x = fixture.input("x", {64}, DataType::Float16);
  const ValueId down = fixture.op("scale", {x, number("down", 0x1p-12)});
  CHECK(verify_one(fixture, x, fixture.op("scale", {down, number("up", 0x1p12)})).verdict == Verdict::Different);
}

TEST_CASE("16-bit values are compared down to the smallest numbers", "[verify]") {
  GraphFixture fixture;
  const auto number = [&](const std::string& name, double value) {
    return fixture.bank.constant(name, tensor({}, {value}), DataType::Float16);
  };
  const ValueId x = fixture.input("x", {64}, DataType::Float16);
  const ValueId quarter = fixture.op("scale", {x, number("quarter", 0.25)});
  CHECK(verify_one(fixture, x, fixture.op("scale", {quarter, number("four", 4)})).verdict == Verdict::Different);
}

TEST_CASE("an error that grows on chosen inputs only is a difference", "[verify]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {256}), y = fixture.input("y", {256}), c = fixture.weight("c", {256});
  const ValueId before = fixture.op("mul", {fixture.op("sub", {x, y}), c});
  const ValueId after = fixture.op("sub", {fixture.op("mul", {x, c}), fixture.op("mul", {y, c})});
  const VerificationResult result = verify_one(fixture, before, after);
  CHECK(result.verdict == Verdict::Different);
  CHECK_THAT(result.reason, Catch::Contains("on inputs that are chosen to make it grow"));
  const VerificationResult reversed = verify_one(fixture, after, before);
  CHECK(reversed.is_equal());
  CHECK(reversed.error_growth > 0);
}

TEST_CASE("the range of 32-bit values is measured and not rejected", "[verify]") {
  GraphFixture fixture;
  const ValueId q = fixture.input("q", {16, 64}), k = fixture.input("k", {64, 16}),
                small = fixture.weight("small", {}, {0x1p-20});
  const ValueId before = fixture.op("matmul", {fixture.op("scale", {q, small}), k});
  const ValueId after = fixture.op("scale", {fixture.op("matmul", {q, k}), small});
  const VerificationResult result = verify_one(fixture, before, after);
  CHECK(result.is_equal());
  CHECK(result.range_growth > 16);
  CHECK(verify_one(fixture, after, before).range_growth <= 1);
}

TEST_CASE("dynamic dimensions are 0 and 1, too", "[verify]") {
  GraphFixture fixture;
  // The factor min(n - 1, 1) is 1 except for n = 1 (and n = 0, where no element is left).
  const algebra::Poly n = fixture.size("n");
  const ValueId x = fixture.input("x", {n, n}), identity = fixture.op("identity", {}, {}, {n});
  const ValueId ones = fixture.op("exp", {fixture.op("sub", {identity, identity})});
  const ValueId others = fixture.op("matmul", {fixture.op("sub", {ones, identity}), ones});
  const ValueId factor = fixture.op("sub", {ones, fixture.op("relu", {fixture.op("sub", {ones, others})})});
  const VerificationResult at_one = verify_one(fixture, fixture.op("mul", {x, factor}), x);
  CHECK(at_one.verdict == Verdict::Different);
  CHECK_THAT(at_one.reason, Catch::Contains("dynamic sizes 1"));
  CHECK(verify_one(fixture, fixture.op("mul", {x, ones}), x).is_equal());
}

TEST_CASE("given inputs are compared, too, at their sizes", "[verify]") {
  GraphFixture fixture;
  // x + relu(x - 5000) is x for all random inputs.
  const ValueId x = fixture.input("x", {fixture.size("n"), 64}),
                far = fixture.op("transpose", {fixture.weight("far", {64, 1}, std::vector<double>(64, 5000))},
                                 {{"perm", std::vector<std::int64_t>{1, 0}}});
  const ValueId at_one = fixture.input("z", {1, 64});
  const ValueId after = fixture.op("add", {at_one, fixture.op("relu", {fixture.op("sub", {at_one, far})})});
  const auto given = [&](ValueId input, std::int64_t rows, double value) {
    const auto values = tensor({rows, 64}, std::vector<double>(static_cast<std::size_t>(64 * rows), value));
    return GivenInputs{
        "feeds.npz", {{fixture.symbols.size("n"), rows}}, {{fixture.bank.node_of(input).source, values}}};
  };
  const auto verdict = [&](ValueId before, ValueId result, const GivenInputs& inputs) {
    return verify(fixture.bank, std::span(&before, 1), std::span(&result, 1), {}, {}, std::span(&inputs, 1));
  };
  CHECK(verify_one(fixture, at_one, after).is_equal());
  CHECK(verdict(at_one, after, given(at_one, 1, 4000)).is_equal());
  const VerificationResult different = verdict(at_one, after, given(at_one, 1, 6000));
  CHECK(different.verdict == Verdict::Different);
  CHECK_THAT(different.reason, Catch::Contains("feeds.npz"));
  const VerificationResult sized =
      verdict(fixture.op("relu", {x}), fixture.op("relu", {fixture.op("relu", {x})}), given(x, 10, 1));
  CHECK(sized.is_equal());
  CHECK(sized.given_inputs == 1);
  CHECK(sized.inputs == 3);
}

TEST_CASE("16-bit values that overflow on given inputs only are found", "[verify]") {
  GraphFixture fixture;
  const ValueId a = fixture.input("a", {64}, DataType::Float16), b = fixture.input("b", {64}, DataType::Float16);
  const std::vector<ValueId> sum{fixture.op("add", {a, b})}, difference{fixture.op("sub", {a, b})};
  const auto all = [](double value) { return tensor({64}, std::vector<double>(64, value)); };
  const GivenInputs opposite{
      "feeds.npz", {}, {{fixture.bank.node_of(a).source, all(60000)}, {fixture.bank.node_of(b).source, all(-60000)}}};
  CHECK_FALSE(find_overflow({fixture.bank, sum, difference, {}, 1}).has_value());
  CHECK(find_overflow({fixture.bank, sum, difference, {}, 1, std::span(&opposite, 1)}) == difference[0]);
}

TEST_CASE("a model with too large a tensor is not verified and not computed", "[verify]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {1 << 15, 1 << 15}), y = fixture.op("relu", {x});
  const VerificationResult result = verify_one(fixture, y, fixture.op("relu", {y}));
  CHECK(result.verdict == Verdict::NotVerified);
  CHECK_THAT(result.reason, Catch::Contains("too large"));
  CHECK(result.elements == 0);
}

}  // namespace
}  // namespace rulemill::optimize
