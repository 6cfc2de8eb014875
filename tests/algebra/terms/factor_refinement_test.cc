#include "algebra/terms/factor_refinement.h"

#include <catch2/catch.hpp>

#include "algebra/library/library.h"
#include "algebra/terms/rule_text.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

/// The text of the refined rule; empty if the rule has no equation of products.
std::string refined(const std::string& text) {
  Library library = shipped_operators();
  TermBank bank(library);
  Symbols symbols;
  const Rule rule = parse_rules(text, "test", library, bank, symbols).at(0);
  const auto typed = infer_types(rule, bank, symbols);
  REQUIRE(std::holds_alternative<TypedRule>(typed));
  const auto result = refine_factors(std::get<TypedRule>(typed), bank, symbols);
  return result ? to_string(result->rule.rule, bank, symbols) : "";
}

}  // namespace

TEST_CASE("an equation of products is replaced by common factors") {
  const std::string text = refined("rule t(x[p, q], y[r, s]) add(x, x) => add(x, x) when p*q = r*s");
  INFO(text);
  CHECK(text.find("when") == std::string::npos);
  CHECK(text.find("x[p_r*p_s, q_r*q_s]") != std::string::npos);
  const std::string three = refined("rule t(x[p, q], y[r, s], z[t]) add(x, x) => add(x, x) when p*q*t = r*s");
  INFO(three);
  CHECK(three.find("z[r_t*s_t]") != std::string::npos);
}

TEST_CASE("chained equations, as of four grouped convolutions, are all refined") {
  const std::string text = refined(
      "rule t(v[g, q], w[q2, g2], x[q3, q4], y[g3, q5], z[q6, g4], u[q7]) add(v, v) => add(v, v) "
      "when q3*g2 = q*q2, q5*g3 = q3*q4, q7*g4 = q5*q6");
  INFO(text);
  CHECK(!text.empty());
  CHECK(text.find("when") == std::string::npos);
}

TEST_CASE("equations that share sizes, as of two convolution branches that are added, are all refined") {
  const std::string text = refined(
      "rule t(v[g, q], w[q2, g2], x[q3, q4], y[g3, q5], z[q6]) add(v, v) => add(v, v) "
      "when g2*q2 = g*q, g3*q4 = q2*q3, q*q6 = q4*q5");
  INFO(text);
  CHECK(!text.empty());
  CHECK(text.find("when") == std::string::npos);
}

TEST_CASE("a factor of both sides cancels, and new names are unique") {
  const std::string text = refined("rule t(x[p, q], y[r, s], z[t, p_r]) add(x, x) => add(x, x) when p*q*t = r*s*t");
  INFO(text);
  CHECK(text.find("x[p_r_*p_s, q_r*q_s]") != std::string::npos);
  CHECK(text.find("z[t, p_r]") != std::string::npos);
}

TEST_CASE("a size may be repeated, and may be in several equations, as of four convolutions with a repeated kernel") {
  const std::string square = refined("rule t(x[p, q], y[r, s]) add(x, x) => add(x, x) when p*p = r*s");
  INFO(square);
  CHECK(square.find("when") == std::string::npos);
  CHECK(square.find("x[p_r*f2*p_s, q]") != std::string::npos);
  CHECK(square.find("y[p_r*p_r*f2, f2*p_s*p_s]") != std::string::npos);
  const std::string text = refined(
      "rule t(v[g, q], w[q2, g2], x[q3, q4], y[q5, q6], z[q7]) add(v, v) => add(v, v) "
      "when g*q5 = q*q2, q3*g2 = q*q2, g*q6 = q3*q4, q*q2 = q6*q7");
  INFO(text);
  CHECK(!text.empty());
  CHECK(text.find("when") == std::string::npos);
}

TEST_CASE("factors do not depend on the order of the sizes' names, nor on the sides of equations") {
  const auto shapes = [](const std::string& condition) {
    const std::string text = refined("rule t(x[p, q], y[r, s], z[t, u]) add(x, x) => add(x, x) when " + condition);
    return text.substr(0, text.find("add"));
  };
  const std::string expected = shapes("p*q = r*s, r*r = t*u");
  CHECK(expected.find("f2") != std::string::npos);
  CHECK(shapes("s*r = q*p, u*t = r*r") == expected);
}

TEST_CASE("other conditions than equations of products of sizes are not refined") {
  for (const std::string condition : {"p*q = r", "p*q <= r*s", "2*p*q = r*s", "p*q = r*s + 1", "p*q = p*s"}) {
    INFO(condition);
    CHECK(refined("rule t(x[p, q], y[r, s]) add(x, x) => add(x, x) when " + condition) == "");
  }
}

TEST_CASE("the values of an equation's sizes are distributed to the common factors") {
  Symbols symbols;
  const auto size = [&](const char* name) { return symbols.size(name); };
  const auto poly = [&](const char* name) { return Poly(size(name)); };
  const CommonFactors factors = {{size("p"), size("q"), size("r"), size("s")},
                                 {size("pr"), size("ps"), size("qr"), size("qs")},
                                 {{1, 0, 1, 0}, {1, 0, 0, 1}, {0, 1, 1, 0}, {0, 1, 0, 1}}};
  const auto holds = [&](const Poly& p, const Poly& q, const Poly& r, const Poly& s) {
    Substitution values = {{size("p"), p}, {size("q"), q}, {size("r"), r}, {size("s"), s}};
    if (!distribute_factors(factors, values)) return false;
    const auto value = [&](const char* name) { return values.at(size(name)); };
    CHECK(value("pr") * value("ps") == p);
    CHECK(value("qr") * value("qs") == q);
    CHECK(value("pr") * value("qr") == r);
    CHECK(value("ps") * value("qs") == s);
    return true;
  };
  const Poly a = poly("a"), b = poly("b"), c = poly("c"), d = poly("d");
  CHECK(holds(a * b, c * d, a * c, b * d));
  CHECK(holds(a, b, b, a));
  CHECK(holds(6 * a * a * b, 10 * c, 4 * a * c, 15 * a * b));
  CHECK_FALSE(holds(a * b, c, a * c, d));
  CHECK_FALSE(holds(2 * a, 3 * b, 2 * a, b));
  CHECK_FALSE(holds(a + b, c, c, a + b));  // a sum is not a product
  CHECK_FALSE(holds(-a, -b, a, b));
  Substitution incomplete = {{size("p"), a}};
  CHECK_FALSE(distribute_factors(factors, incomplete));
}

TEST_CASE("the values of a repeated size are distributed, too") {
  Symbols symbols;
  const Atom p = symbols.size("p"), r = symbols.size("r"), s = symbols.size("s");
  const Atom f = symbols.size("f"), pr = symbols.size("pr"), ps = symbols.size("ps");
  const CommonFactors factors = {{p, r, s}, {f, pr, ps}, {{1, 1, 1}, {1, 2, 0}, {1, 0, 2}}};  // p*p = r*s
  const Poly a(symbols.size("a")), b(symbols.size("b"));
  Substitution values = {{p, 6 * a * b}, {r, 4 * a * a}, {s, 9 * b * b}};
  REQUIRE(distribute_factors(factors, values));
  const auto value = [&](Atom atom) { return values.at(atom); };
  CHECK(value(f) * value(pr) * value(ps) == 6 * a * b);
  CHECK(value(f) * value(pr) * value(pr) == 4 * a * a);
  CHECK(value(f) * value(ps) * value(ps) == 9 * b * b);
  values = {{p, 6 * a * b}, {r, 4 * a * a}, {s, 9 * b * a}};
  CHECK_FALSE(distribute_factors(factors, values));
}
