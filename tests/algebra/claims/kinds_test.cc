#include "algebra/claims/kinds.h"

#include <catch2/catch.hpp>

#include "algebra/library/library.h"
#include "runtime/error.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

/// What is said of an output over a[n] of truths, b[n] of truths, k[n] of integers, x[n]; nothing if it is accepted.
std::string refusal(const std::string& kind, const std::string& value) {
  Library library;
  try {
    library.add(
        "function less(s, t) = less(s, t)\nfunction equal(s, t) = equal(s, t)\nfunction gate(s, t) = gate(s, t)\n"
        "function floor(t) = floor(t)\nfunction most(s, t) = max(s, t)\nfunction half(t) = t / 2\n"
        "operator g(a[n] of truths, b[n] of truths, k[n] of integers, x[n])\n"
        "  tensor t[i < n] = a[i] * b[i]\n  y[i < n] of " +
            kind + " = " + value,
        "d.op");
  } catch (const runtime::InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("outputs that are truths by their form may be declared so") {
  const char* values[] = {
      "a[i]",
      "a[i] * b[n - 1 - i]",
      "a[i] + b[i] - a[i] * b[i]",
      "1 - t[i]",
      "less(x[i], k[i]) + equal(k[i], x[i])",
      "less(x[i], 0) + less(0, x[i])",
      "gate(x[i], a[i])",
      "most(a[i], b[i])",
      "max(p < n where p <= i) less(x[p], 3)",
      "a[i] if i = 0 else less(x[i], x[0])",
      "equal(x[i], x[i])",
  };
  for (const std::string value : values) {
    INFO(value);
    CHECK(refusal("truths", value).empty());
    CHECK(refusal("integers", value).empty());
  }
}

TEST_CASE("outputs that are integers by their form may be declared so") {
  for (const std::string value : {"3 * k[i] - a[i]", "sum(p < i + 1) a[p]", "floor(x[i]) * k[0]", "gate(x[i], k[i])"}) {
    INFO(value);
    CHECK(refusal("integers", value).empty());
    CHECK(refusal("truths", value).find("'y' is not shown to be truths, 0 or 1 each") != std::string::npos);
  }
}

TEST_CASE("what is not shown to be what it is declared to be is refused") {
  for (const std::string value : {"x[i]", "half(k[i])", "k[i] / n", "gate(k[i], x[i])", "most(x[i], a[i])"}) {
    INFO(value);
    CHECK(refusal("integers", value).find("'y' is not shown to be integers") != std::string::npos);
    CHECK_FALSE(refusal("truths", value).empty());
  }
  for (const std::string value :
       {"a[i] + b[i]", "a[i] - b[i]", "2 * a[i]", "less(x[i], k[i]) + less(x[i], 0)", "sum(p < n) a[p]",
        "k[i] if i = 0 else a[i]", "less(a[i], b[i]) + less(b[i], x[i])"}) {
    INFO(value);
    CHECK_FALSE(refusal("truths", value).empty());
  }
}

TEST_CASE("an output is of positives where it is the exponential of its one input, and nowhere else") {
  const auto refusal_of = [](const std::string& inputs, const std::string& output) -> std::string {
    Library library;
    try {
      library.add(
          "function exp(t) = exp(t)\nfunction sigmoid(t) = 1 / (1 + exp(-t))\nfunction larger(t) = exp(t) + 1\n"
          "operator p(" +
              inputs + ")\n  " + output,
          "d.op");
    } catch (const runtime::InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal_of("x[d...]", "y[i... < d...] of positives = exp(x[i...])").empty());
  CHECK(refusal_of("x[m, n]", "y[i < m, j < n] of positives = exp(x[i, j])").empty());
  const std::pair<const char*, const char*> others[] = {
      {"x[m, n]", "y[i < m, j < n] of positives = x[i, j]"},
      {"x[m, n]", "y[i < m, j < n] of positives = sigmoid(x[i, j])"},  // below 1
      {"x[m, n]", "y[i < m, j < n] of positives = larger(x[i, j])"},   // above 1
      {"x[m, n]", "y[i < m, j < n] of positives = exp(x[i, 0])"},      // equal in each row
      {"x[m, n]", "y[i < n, j < m] of positives = exp(x[j, i])"},      // of another shape
      {"x[m, n]", "y[i < m, j < n] of positives = exp(x[i, j + 1])"},
      {"x[n, n]", "y[i < n, j < n] of positives = exp(x[i, j])"},  // of squares alone
      {"x[m, n]", "y[i < m, j < n] of positives = 2 * exp(x[i, j])"},
      {"x[m, n], z[m, n]", "y[i < m, j < n] of positives = exp(x[i, j])"},
  };
  for (const auto& [inputs, output] : others) {
    INFO(output);
    CHECK(refusal_of(inputs, output).find("'y' is not shown to be positives") != std::string::npos);
  }
}
