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

TEST_CASE("other conditions than equations of products of distinct sizes are not refined") {
  for (const std::string condition :
       {"p*q = r", "p*p = r*s", "p*q <= r*s", "2*p*q = r*s", "p*q = r*s + 1", "p*q = p*s"}) {
    INFO(condition);
    CHECK(refined("rule t(x[p, q], y[r, s]) add(x, x) => add(x, x) when " + condition) == "");
  }
}

TEST_CASE("positive integers satisfy the equation if and only if they have the common factors") {
  // All p·q = r·s up to 12: there are a, b, c, d with p = a·b, q = c·d, r = a·c, s = b·d.
  for (int p = 1; p <= 12; ++p) {
    for (int q = 1; q <= 12; ++q) {
      for (int r = 1; r <= 12; ++r) {
        bool found = false;
        for (int a = 1; a <= p; ++a) {
          if (p % a != 0 || r % a != 0) continue;
          const int b = p / a, c = r / a;
          found |= q % c == 0 && b * (q / c) * r == p * q;
        }
        CHECK(found == ((p * q) % r == 0));
      }
    }
  }
}

TEST_CASE("the values of an equation's sizes are distributed to the common factors") {
  Symbols symbols;
  const auto size = [&](const char* name) { return symbols.size(name); };
  const auto poly = [&](const char* name) { return Poly(size(name)); };
  const std::vector<ProductEquation> equations = {
      {{size("p"), size("q")}, {size("r"), size("s")}, {{size("pr"), size("ps")}, {size("qr"), size("qs")}}}};
  const auto holds = [&](const Poly& p, const Poly& q, const Poly& r, const Poly& s) {
    Substitution values = {{size("p"), p}, {size("q"), q}, {size("r"), r}, {size("s"), s}};
    if (!distribute_factors(equations, values)) return false;
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
  CHECK_FALSE(distribute_factors(equations, incomplete));
}
