#include "algebra/terms/typing.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "algebra/sizes/unify.h"
#include "algebra/terms/match_sizes.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/size_condition.h"
#include "tests/shipped_operators.h"

using namespace rulemill::algebra;

namespace {

struct RuleFixture {
  Library library = shipped_operators();
  TermBank bank{library};
  Symbols symbols;

  Rule rule(const std::string& text) { return parse_rules("rule r" + text, "test", library, bank, symbols).at(0); }

  TypedRule typed(const Rule& rule, const std::vector<std::vector<std::int64_t>>* example = nullptr) {
    auto result = infer_types(rule, bank, symbols, example);
    if (const auto* error = std::get_if<TypeError>(&result)) FAIL(error->what);
    return std::get<TypedRule>(result);
  }
  TypedRule typed(const std::string& text) { return typed(rule(text)); }
  std::string error(const std::string& text) {
    auto result = infer_types(rule(text), bank, symbols);
    const auto* failed = std::get_if<TypeError>(&result);
    return failed ? failed->what : "typed";
  }
  /// Types a candidate whose declared shapes are the example.
  TypedRule typed_candidate(const std::string& text) {
    Rule candidate = rule(text);
    std::vector<std::vector<std::int64_t>> example;
    for (const Shape& shape : candidate.shapes) {
      auto& dims = example.emplace_back();
      for (const Poly& dim : shape) dims.push_back(*dim.constant());
    }
    candidate.shapes.clear();
    return typed(candidate, &example);
  }
  std::vector<std::string> shapes(const TypedRule& typed_rule) {
    std::vector<std::string> texts;
    for (const Shape& shape : typed_rule.rule.shapes) texts.push_back(symbols.to_string(shape));
    return texts;
  }
  std::vector<std::string> texts(const std::vector<SizeCondition>& conditions) {
    std::vector<std::string> texts;
    for (const SizeCondition& condition : conditions) texts.push_back(to_string(condition, symbols));
    return texts;
  }
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("sizes of principal types are named after the dimensions that they fill") {
  RuleFixture fixture;
  CHECK(fixture.shapes(fixture.typed("(a:2, b:2)\n matmul(a, b) => matmul(a, b)")) == Texts{"[m, k]", "[k, n]"});
  CHECK(fixture.shapes(fixture.typed("(x:2, y:2)\n concat(x, y; axis=1) => concat(x, y; axis=1)")) ==
        Texts{"[d, d2]", "[d, e]"});
}

TEST_CASE("declared shapes keep their names") {
  RuleFixture fixture;
  const TypedRule typed = fixture.typed("(x[p, q], w[q, s])\n matmul(x, w) => matmul(x, w)");
  CHECK(fixture.shapes(typed) == Texts{"[p, q]", "[q, s]"});
  CHECK(typed.narrowing.conditions.empty());
}

TEST_CASE("a divisibility condition becomes a product with a fresh quotient") {
  RuleFixture fixture;
  const TypedRule typed = fixture.typed("(x:4, k:4)\n conv2d(x, k) => conv2d(x, k)");
  CHECK(fixture.shapes(typed) == Texts{"[n, g*q, h, w]", "[q*q2, g, r, s]"});
  CHECK(typed.rule.condition.empty());
}

TEST_CASE("what the types require of sizes that the text leaves free is reported") {
  for (const auto& [text, narrowing] : std::vector<std::pair<const char*, Texts>>{
           {"(a[m, k], b[k, n])\n matmul(a, b) => matmul(b, a)", {"k = m", "n = m"}},
           {"(a:2, b:2)\n add(a, b) => add(b, a)", {}},
           {"(x[n, c, h, w], k[f, c, 1, 1])\n conv2d(x, k) => conv2d(enlarge(x; rows=5, cols=5), k)",
            {"h = 5", "w = 5"}},
           // A single value satisfies the guarantees.
           {"(k:4)\n enlarge(k; rows=1, cols=1) => k", {}},
           {"(k:4)\n k => enlarge(k; rows=3, cols=3)", {"k[2] = 3", "k[3] = 3"}},
           {"(k[a, b, c, d])\n enlarge(k; rows=1, cols=1) => k", {"c = 1", "d = 1"}},
           {"(x[c, d])\n relu(x) => relu(x)\n when c = 2*d", {}},
           {"(x[m], y[n])\n concat(x, y; axis=0) => concat(split(concat(x, y; axis=0); axis=0, at=?).first, y; axis=0)",
            {}}}) {
    INFO(text);
    RuleFixture fixture;
    CHECK(fixture.texts(fixture.typed(text).narrowing.conditions) == narrowing);
  }
}

TEST_CASE("guarantees that do not follow from positive sizes are facts") {
  RuleFixture fixture;
  const TypedRule typed = fixture.typed("(x[m, k])\n split(x; axis=0, at=a).first => split(x; axis=0, at=a).first");
  CHECK(fixture.texts(typed.facts) == Texts{"a < m"});
}

TEST_CASE("a split of a candidate is at the boundary of a concat below it") {
  RuleFixture fixture;
  const TypedRule through = fixture.typed_candidate(
      "(x[2, 4], v[4, 4], w[4, 4])\n split(matmul(x, concat(v, w; axis=1)); axis=1, at=4).second => matmul(x, w)");
  CHECK(fixture.shapes(through) == Texts{"[m, d]", "[d, d2]", "[d, e]"});
  const TypedRule second = fixture.typed_candidate(
      "(x[2, 4], y[2, 3], z[2, 5])\n"
      " split(concat(concat(x, y; axis=1), z; axis=1); axis=1, at=7).second => z");
  CHECK(fixture.shapes(second)[2] != fixture.shapes(second)[1]);
  CHECK(second.rule.condition.empty());
}

TEST_CASE("numbers in the constants of a candidate become sizes, those of a rule are literal") {
  RuleFixture fixture;
  CHECK(fixture.shapes(fixture.typed_candidate("(x[2, 4])\n matmul(x, identity(; n=4)) => x")) == Texts{"[m, n]"});
  CHECK(fixture.shapes(fixture.typed("(x[m, k])\n matmul(x, identity(; n=4)) => x")) == Texts{"[m, 4]"});
}

TEST_CASE("a condition of the rule is part of its typing") {
  RuleFixture fixture;
  CHECK(fixture.shapes(fixture.typed("(x[n, c, h, w])\n relu(x) => relu(x)\n when c = 2*n")) ==
        Texts{"[n, 2*n, h, w]"});
  const TypedRule ordered = fixture.typed("(x[m, n])\n relu(x) => relu(x)\n when m < n");
  CHECK(fixture.texts(ordered.rule.condition) == Texts{"m < n"});
}

TEST_CASE("an ill-typed rule is rejected with the place and the dimensions") {
  RuleFixture fixture;
  CHECK(fixture.error("(a[2, 3], b[4, 5])\n matmul(a, b) => matmul(a, b)") ==
        "matmul(a, b): dimension 0 of argument b is 4, expected 3");
  CHECK(fixture.error("(x:2, s:0)\n scale(x, s) => s") == "output 0 has rank 2 on the left and 0 on the right");
  CHECK(fixture.error("(x[2, n], y[2, n])\n concat(x, y; axis=0) => x").find("dimension 0 of output 0") == 0);
}

TEST_CASE("messages name undeclared sizes by the dimensions of variables") {
  RuleFixture fixture;
  CHECK(fixture.error("(x:2, w:2)\n add(x, concat(x, w; axis=0)) => x") ==
        "add(x, concat(x, w; axis=0)): dimension 0 of argument b is x[0] + w[0], expected x[0]");
  CHECK(fixture.error("(x:2, w:2)\n concat(x, w; axis=0) => concat(x, w; axis=1)") ==
        "dimension 0 of output 0 is 2*x[0] on the left and x[0] on the right");
}

TEST_CASE("typing a typed rule again changes nothing") {
  RuleFixture fixture;
  for (const char* text :
       {"(x:4, k:4)\n conv2d(x, k) => conv2d(x, k; act=relu)",
        "(x:4, v:4, w:4)\n concat(conv2d(x, v), conv2d(x, w); axis=1) => conv2d(x, concat(v, w; axis=0))",
        "(x:2, y:2)\n split(concat(x, y; axis=0); axis=0, at=?).first => x"}) {
    const TypedRule once = fixture.typed(text);
    const TypedRule twice = fixture.typed(once.rule);
    CHECK(to_string(twice.rule, fixture.bank, fixture.symbols) == to_string(once.rule, fixture.bank, fixture.symbols));
    CHECK(twice.narrowing.conditions.empty());
  }
}

TEST_CASE("unification cancels positive sizes and detects contradictions of sign") {
  Symbols symbols;
  const Poly a(symbols.size("a")), b(symbols.size("b")), c(symbols.size("c"));
  Unifier unifier(symbols);
  CHECK(unifier.unify(a * c, b * c));
  CHECK(unifier.resolve(a) == unifier.resolve(b));
  CHECK_FALSE(Unifier(symbols).unify(a + b, 0));
  CHECK_FALSE(Unifier(symbols).unify(a, a + b));
  CHECK_FALSE(Unifier(symbols).add_divisibility(2, 3));
}

TEST_CASE("an equation that cannot be solved for a size stays in the residue") {
  Symbols symbols;
  const Poly a(symbols.size("a")), b(symbols.size("b")), c(symbols.size("c")), d(symbols.size("d"));
  Unifier unifier(symbols);
  CHECK(unifier.unify(a * b, c * d));
  CHECK(unifier.residue().size() == 1);
  CHECK(unifier.unify(a, c));
  CHECK(unifier.residue().empty());
  CHECK(unifier.resolve(b) == unifier.resolve(d));
}

TEST_CASE("the residue is simplified by positive factors and by elimination") {
  Symbols symbols;
  const auto size = [&](const std::string& name) { return Poly(symbols.size(name)); };
  const Poly p = size("p"), q = size("q"), r = size("r"), s = size("s"), t = size("t"), one(1), two(2);
  {  // (q - 1)(r - s) = 0 of a dimension r - s: q = 1
    Unifier unifier(symbols);
    CHECK(unifier.unify(q * r + s, q * s + r));
    CHECK((unifier.simplify_residue() && unifier.resolve(q) == q));
    const std::vector<Poly> positive = {p * p * r - p * p * s};
    CHECK(unifier.simplify_residue(positive));
    CHECK(unifier.resolve(q) == one);
    CHECK(unifier.residue().empty());
  }
  {  // (q r - s t)(s + 1 - q) = 0
    Unifier unifier(symbols);
    CHECK(unifier.unify(q * r * s + q * s * t + q * r, q * q * r + s * s * t + s * t));
    const std::vector<Poly> positive = {q * r - s * t};
    CHECK(unifier.simplify_residue(positive));
    CHECK((unifier.resolve(q) == s + 1 || unifier.resolve(s) == q - 1));
  }
  {  // 2 p q = s s t and p q = s t: s = 2
    Unifier unifier(symbols);
    CHECK(unifier.unify(two * p * q, s * s * t));
    CHECK(unifier.unify(p * q, s * t));
    CHECK(unifier.simplify_residue());
    CHECK(unifier.resolve(s) == two);
  }
  {  // p q = s t and 2 p q = s t: no sizes do
    Unifier unifier(symbols);
    CHECK(unifier.unify(p * q, s * t));
    CHECK(unifier.unify(two * p * q, s * t));
    CHECK_FALSE(unifier.simplify_residue());
  }
}

TEST_CASE("the quotient of an unsolved divisibility replaces the division everywhere") {
  Symbols symbols;
  const Poly a(symbols.size("a")), b(symbols.size("b")), c(symbols.size("c"));
  Unifier unifier(symbols);
  Poly q;
  CHECK(unifier.add_divisibility(c, a * b, &q));
  CHECK(unifier.residue().size() == 1);
  CHECK(unifier.resolve(symbols.floor_div(a * b, c)) == q);
}

TEST_CASE("matching solves for a rule's sizes, independently of their names") {
  Symbols symbols;
  const Poly a(symbols.size("a")), b(symbols.size("b")), c(symbols.size("c")), d(symbols.size("d"));
  using Pairs = std::vector<std::pair<Poly, Poly>>;
  const auto product = match_sizes(Pairs{{a * b, 12}, {b, 4}}, symbols);
  REQUIRE(product);
  CHECK(product->at(*a.atom()) == Poly(3));
  const auto sum = match_sizes(Pairs{{a + b, c + d}, {a, d}}, symbols);
  REQUIRE(sum);
  CHECK(sum->at(*b.atom()) == c);
  const auto swapped = match_sizes(Pairs{{a, b}, {b, a}}, symbols);
  REQUIRE(swapped);
  CHECK(swapped->at(*a.atom()) == b);
  CHECK_FALSE(match_sizes(Pairs{{a, 2}, {a, 3}}, symbols));
  CHECK_FALSE(match_sizes(Pairs{{a * b, 13}, {b, 4}}, symbols));
  CHECK_FALSE(match_sizes(Pairs{{a + b, 4}, {b, 4}}, symbols));
  CHECK_FALSE(match_sizes(Pairs{{a * b, 12}}, symbols));
}

TEST_CASE("matching uses the equations of a condition") {
  Symbols symbols;
  const Poly a(symbols.size("a")), b(symbols.size("b")), c(symbols.size("c"));
  const std::vector<SizeCondition> condition = {{Relation::Eq, a * b, 2 * c}};
  const std::vector<std::pair<Poly, Poly>> pairs = {{a, 4}, {c, 6}};
  const auto matched = match_sizes(pairs, symbols, condition);
  REQUIRE(matched);
  CHECK(matched->at(*b.atom()) == Poly(3));
}

TEST_CASE("a condition holds, fails or is not known") {
  Symbols symbols;
  const Poly a(symbols.size("a")), b(symbols.size("b"));
  CHECK(holds({Relation::Le, 1, a}, symbols) == Truth::Yes);
  CHECK(holds({Relation::Lt, a, a + b}, symbols) == Truth::Yes);
  CHECK(holds({Relation::Eq, a, a + b}, symbols) == Truth::No);
  CHECK(holds({Relation::Ne, a, a + b}, symbols) == Truth::Yes);
  CHECK(holds({Relation::Eq, a, b}, symbols) == Truth::Unknown);
  CHECK(holds({Relation::Lt, 3, 3}, symbols) == Truth::No);
}
