#include "algebra/properties/laws.h"

#include <catch2/catch.hpp>

#include "algebra/library/library.h"
#include "algebra/properties/exact_value.h"
#include "runtime/text/error.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

/// The functions that the text defines.
std::vector<Function> functions(const std::string& text) {
  Library library;
  library.add(text, "d.op");
  return {library.functions().begin(), library.functions().end()};
}

/// Whether a definition with an operator declared commutative is accepted.
bool is_accepted(const std::string& text) {
  Library library;
  try {
    library.add(text, "d.op");
  } catch (const runtime::InputError&) {
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("laws at zero, of piecewise linear functions and of symmetric expressions are proved") {
  const char* texts[] = {
      "function f(t) = max(t, 0)\n  law f(0) = 0\n  law f(f(t)) = f(t)",
      "function f(t) = min(max(t, -1), 6.5) law f(f(t)) = f(t)",
      "function f(t) = abs(t) law f(f(t)) = f(t) law f(0) = 0",
      "function f(t) = (t + abs(t)) / 2 law f(f(t)) = f(t)",
      "function f(t) = max(min(t, 100000000), -0.000001) law f(f(t)) = f(t)",
      "function f(t) = 3 law f(f(t)) = f(t)",
      "function f(t) = tanh(t) * exp(t) law f(0) = 0",
      "function f(t) = log(1 + t) law f(0) = 0",
      "function f(t) = t * (1 + erf(t / sqrt(2))) / 2 law f(0) = 0",
      "function f(s, t) = sqrt(s * s + t * t) law f(s, t) = f(t, s)",
      "function f(s, t) = max(s, t) - min(t, s) law f(s, t) = f(t, s)",
      "function f(s, t) = (s - t) * (s - t) law f(s, t) = f(t, s)",
  };
  for (const std::string text : texts) {
    INFO(text);
    CHECK(functions(text)[0].assumed_laws.empty());
  }
}

TEST_CASE("homogeneity, exponential and monotonicity laws are proved from the formula") {
  const char* texts[] = {
      "function f(t) = max(t, 0) law f(c * t) = c * f(t) law max(f(s), f(t)) = f(max(s, t))",
      "function f(t) = (abs(t) + 3 * t) / 2 law f(c * t) = c * f(t)",
      "function f(t) = sqrt(t * t) law f(c * t) = c * f(t)",
      "function f(t) = t / sqrt(t * t) / t law f(c * t) = f(t) / c",
      "function f(t) = 1 / t law f(c * t) = f(t) / c",
      "function f(s, t) = min(s, 2 * t) law f(c * s, c * t) = c * f(s, t)",
      "function f(t) = exp(3 * t / 2) law f(s + t) = f(s) * f(t)",
      "function f(t) = exp(-t) law f(s + t) = f(s) * f(t)",
      "function f(t) = exp(0 * t) law f(s + t) = f(s) * f(t) law max(f(s), f(t)) = f(max(s, t))",
      "function f(t) = 1 / (1 + exp(-t)) law max(f(s), f(t)) = f(max(s, t))",
      "function f(t) = -3 * min(0 - tanh(t), erf(0 - t)) law max(f(s), f(t)) = f(max(s, t))",
      "function f(t) = sqrt(t) law max(f(s), f(t)) = f(max(s, t))",
      "function f(t) = log(1 + exp(t)) law max(f(s), f(t)) = f(max(s, t))",
      "function f(t) = t + 2 * 3 law max(f(s), f(t)) = f(max(s, t))",
      "function f(t) = t * (exp(2) / exp(3)) law max(f(s), f(t)) = f(max(s, t))",
      "function f(t) = gate(less(0, t), t) law f(c * t) = c * f(t)",
      "function f(s, t) = less(s, t) * s law f(c * s, c * t) = c * f(s, t)",
      "function f(t) = t * power(2, 3) law f(c * t) = c * f(t)",
  };
  for (const std::string text : texts) {
    INFO(text);
    CHECK(functions(text)[0].assumed_laws.empty());
  }
}

TEST_CASE("false homogeneity, exponential and monotonicity laws are rejected") {
  const char* texts[] = {
      "function f(t) = max(t, 1) law f(c * t) = c * f(t)",
      "function f(t) = t * t law f(c * t) = c * f(t)",
      "function f(t) = abs(t) law f(c * t) = f(t) / c",
      "function f(t) = 1 / (1 + t * t) law f(c * t) = f(t) / c",
      "function f(s, t) = s * t law f(c * s, c * t) = c * f(s, t)",
      "function f(s, t) = max(s, t) + 1 law f(c * s, c * t) = c * f(s, t)",
      "function f(t) = exp(t) + 0.001 law f(s + t) = f(s) * f(t)",
      "function f(t) = exp(t + 1) law f(s + t) = f(s) * f(t)",
      "function f(t) = 1 + t law f(s + t) = f(s) * f(t)",
      "function f(t) = abs(t) law max(f(s), f(t)) = f(max(s, t))",
      "function f(t) = exp(-t) law max(f(s), f(t)) = f(max(s, t))",
      "function f(t) = 1 / t law max(f(s), f(t)) = f(max(s, t))",
      "function f(t) = log(t) law max(f(s), f(t)) = f(max(s, t))",       // 0 where undefined, negative below 1
      "function f(t) = sqrt(t) - 5 law max(f(s), f(t)) = f(max(s, t))",  // 0 where undefined, negative below 25
      "function f(t) = t * (1 + erf(t)) / 2 law max(f(s), f(t)) = f(max(s, t))",
      "function f(t) = t * power(t, 2) law f(c * t) = c * f(t)",
      "function f(t) = t * (1 + less(t, 1)) law f(c * t) = c * f(t)",
      "function f(t) = t * (1 + floor(t)) law f(c * t) = c * f(t)",
      "function f(t) = gate(t - 1, t) law f(c * t) = c * f(t)",
  };
  for (const std::string text : texts) {
    INFO(text);
    Library library;
    CHECK_THROWS_AS(library.add(text, "d.op"), runtime::InputError);
  }
}

TEST_CASE("true parity laws are proved from the formula and false ones rejected") {
  const char* true_laws[] = {
      "function f(t) = tanh(t) law f(-t) = -f(t)",
      "function f(t) = sin(t) / cos(t) law f(-t) = -f(t)",
      "function f(t) = (exp(t) - exp(-t)) / 2 law f(-t) = -f(t)",
      "function f(t) = exp(t) + exp(-t) law f(-t) = f(t)",
      "function f(t) = 1 / t law f(-t) = -f(t)",
      "function f(t) = 1 / (t - 1) + 1 / (t + 1) law f(-t) = -f(t)",
      "function f(t) = max(-2, min(2, t)) law f(-t) = -f(t)",
      "function f(t) = abs(t) law f(-t) = f(t)",
      "function f(t) = t * erf(t / 3) law f(-t) = f(t)",
      "function f(t) = asin(t) * sqrt(t * t) law f(-t) = -f(t)",
      "function f(t) = 0 law f(-t) = f(t) law f(-t) = -f(t)",
  };
  for (const std::string text : true_laws) {
    INFO(text);
    CHECK(functions(text)[0].assumed_laws.empty());
  }
  CHECK(functions("function f(t) = tanh(t) law f(-t) = -f(t)")[0].parity == -1);
  CHECK(functions("function f(t) = cos(t) law f(-t) = f(t)")[0].parity == 1);
  CHECK(functions("function f(t) = tanh(t)")[0].parity == 0);
  const char* false_laws[] = {
      "function f(t) = tanh(t) law f(-t) = f(t)",          "function f(t) = cos(t) law f(-t) = -f(t)",
      "function f(t) = max(t, 0) law f(-t) = -f(t)",       "function f(t) = max(-2, min(3, t)) law f(-t) = -f(t)",
      "function f(t) = 1 / (t - 1) law f(-t) = -f(t)",
      "function f(t) = t + 0 * sqrt(t) law f(-t) = -f(t)",  // undefined below 0
      "function f(t) = t + 0 / (t - 1) law f(-t) = -f(t)",  // undefined at 1, not at -1
      "function f(t) = exp(t) - 1 law f(-t) = -f(t)",      "function f(t) = t * t + 0.001 * t law f(-t) = f(t)",
      "function f(t) = acos(t) law f(-t) = -f(t)",
  };
  for (const std::string text : false_laws) {
    INFO(text);
    Library library;
    CHECK_THROWS_AS(library.add(text, "d.op"), runtime::InputError);
  }
}

TEST_CASE("laws that fail only where terms cancel or sums are grouped differently are rejected") {
  const char* texts[] = {
      // max(p, q + r) and max(p + q, r) differ.
      R"(function f(s, t) = s * (max(exp(s * t), exp(s + t) + exp(s + t) * exp(s + t)) -
                                 max(exp(s * t) + exp(s + t), exp(s + t) * exp(s + t))) law f(s, t) = f(t, s))",
      "function f(s, t) = s + t + 1 / s - 1 / s law f(s, t) = f(t, s)",  // undefined at s = 0, not at t = 0
      "function f(s, t) = s * t + 0 * sqrt(s) law f(s, t) = f(t, s)",
      "function f(s, t) = s + 1 / (1 / t) law f(s, t) = f(t, s)",
      "function f(t) = 1 + 0 * sqrt(t) law f(f(t)) = f(t)",  // 0 below 0, and f(0) = 1
      "function f(r, s, t) = max(r, max(s, t)) law f(f(r)) = f(r)",
  };
  for (const std::string text : texts) {
    INFO(text);
    Library library;
    CHECK_THROWS_AS(library.add(text, "d.op"), runtime::InputError);
  }
}

TEST_CASE("a law that the formula does not prove is assumed, even if it nearly holds") {
  const std::string near = "function f(t) = t * (1 + 0.00000000000000000001 * less(t, 1)) law f(c * t) = c * f(t)";
  CHECK(functions(near)[0].assumed_laws.size() == 1);
}

TEST_CASE("values at numbers are exact or absent") {
  const auto at = [](const std::string& text, Rational t) {
    return evaluate_exactly(functions(text)[0], std::vector{t});
  };
  CHECK(at("function f(t) = max(t, 0)", {-1, 3}) == Rational{0, 1});
  CHECK(at("function f(t) = 1 / t", {-2, 3}) == Rational{-3, 2});
  CHECK(at("function f(t) = 1 / (1 + exp(-t))", {0, 1}) == Rational{1, 2});
  CHECK_FALSE(at("function f(t) = exp(t)", {1, 1}));
  CHECK_FALSE(at("function f(t) = 1 / t", {0, 1}));
  CHECK_FALSE(at("function f(t) = sqrt(t)", {4, 1}));
  CHECK_FALSE(at("function f(t) = log(t)", {0, 1}));
  CHECK_FALSE(at("function f(t) = 1 + 0 * asin(t)", {2, 1}));
}

TEST_CASE("an assumed law is listed for all operators that apply the function") {
  Library library;
  library.add(
      "function g(t) = sqrt(t * t)\n  law g(g(t)) = g(t)\n"
      "function h(t) = t\n"
      "operator plain(x[n])\n  y[i < n] = h(x[i])\n"
      "operator uses(x[n]; act in {none, g})\n  y[i < n] = act(x[i])\n"
      "operator whole(x[n])\n  is plain(uses(x))",
      "d.op");
  CHECK(library.functions()[0].idempotent);
  CHECK(library.functions()[0].assumed_laws == std::vector<std::string>{"g(g(t)) = g(t)"});
  CHECK(library.assumed_laws("uses").size() == 1);
  CHECK(library.assumed_laws("whole").size() == 1);
  CHECK(library.assumed_laws("plain").empty());
}

TEST_CASE("laws of the shipped functions are proved") {
  const Library& library = shipped_operators();
  for (const std::string& name : library.operator_names()) CHECK(library.assumed_laws(name).empty());
}

TEST_CASE("operators with a symmetric definition can be declared commutative") {
  const char* bodies[] = {
      "y[i < n] = a[i] + b[i]",
      "y[i < n] = a[i] * b[i] - 3 * b[i] - 3 * a[i]",
      "y[i < n] = (a[i] - b[i]) * (a[i] - b[i])",
      "y[i < n] = f(a[i], b[i])",
      "y[i < 1] = sum(p < n) a[p] * b[p] / n",
      "y[i < n] = b[0] * a[0] if i = 0 else a[i] + b[i]",
      "tensor t[i < n] = a[i] * b[i]\n  y[i < n] = t[n - 1 - i]",
      "y[i < n] = max(p < n where p <= i) (a[p] + b[p])",
  };
  for (const std::string body : bodies) {
    INFO(body);
    const std::string function = "function f(s, t) = max(s, t)\n  law f(s, t) = f(t, s)\n";
    CHECK(is_accepted(function + "operator g(a[n], b[n])\n  commutative\n  " + body));
  }
  CHECK(is_accepted("operator g(a[m], b[n])\n  commutative\n  where m != n\n"
                    "  y[i < m + n] = sum(p < m) a[p] + sum(q < n) b[q]") == false);
  CHECK(
      is_accepted("function f(s, t) = max(s, t)\noperator g(a[n], b[n])\n  commutative\n  y[i < n] = f(a[i], b[i])") ==
      false);
}

TEST_CASE("an operator with a partial function of only one input is not commutative") {
  const std::string recip = "function recip(t) = 1 / t\n";
  const char* bodies[] = {
      "y[i < n] = a[i] * b[i] + recip(a[i]) - recip(a[i])",
      "tensor t[i < n] = recip(a[i])\n  y[i < n] = a[i] * b[i]",
      "tensor t[i < n] = recip(a[i]) if i = 0 else recip(b[i])\n  y[i < n] = a[i] * b[i]",
  };
  for (const std::string body : bodies) {
    INFO(body);
    CHECK_FALSE(is_accepted(recip + "operator g(a[n], b[n])\n  commutative\n  " + body));
  }
  CHECK(is_accepted(recip + "operator g(a[n], b[n])\n  commutative\n  tensor t[i < n] = recip(b[i]) + recip(a[i])\n" +
                    "  y[i < n] = a[i] * b[i]"));
  CHECK_FALSE(is_accepted("operator g(a[n] of bool, b[n])\n  commutative\n  y[i < n] = a[i] * b[i]"));
}
