#include "algebra/properties/scalar_kinds.h"

#include <catch2/catch.hpp>

#include "algebra/library/library.h"
#include "runtime/text/error.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

/// The error for an output of this kind over a[n], b[n] of bool, k[n] of int and x[n]; empty if accepted.
std::string error_of(const std::string& kind, const std::string& value) {
  Library library;
  try {
    library.add(
        "function less(s, t) = less(s, t)\nfunction equal(s, t) = equal(s, t)\nfunction gate(s, t) = gate(s, t)\n"
        "function floor(t) = floor(t)\nfunction most(s, t) = max(s, t)\nfunction half(t) = t / 2\n"
        "operator g(a[n] of bool, b[n] of bool, k[n] of int, x[n])\n"
        "  tensor t[i < n] = a[i] * b[i]\n  y[i < n] of " +
            kind + " = " + value,
        "d.op");
  } catch (const runtime::InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("outputs that are 0 or 1 by their formula can be declared as bool") {
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
    CHECK(error_of("bool", value).empty());
    CHECK(error_of("int", value).empty());
  }
}

TEST_CASE("outputs that are integers by their formula can be declared as int") {
  for (const std::string value : {"3 * k[i] - a[i]", "sum(p < i + 1) a[p]", "floor(x[i]) * k[0]", "gate(x[i], k[i])"}) {
    INFO(value);
    CHECK(error_of("int", value).empty());
    CHECK(error_of("bool", value).find("'y' is not shown to be bool, 0 or 1") != std::string::npos);
  }
}

TEST_CASE("outputs that are not shown to have their declared kind are rejected") {
  for (const std::string value : {"x[i]", "half(k[i])", "k[i] / n", "gate(k[i], x[i])", "most(x[i], a[i])"}) {
    INFO(value);
    CHECK(error_of("int", value).find("'y' is not shown to be int") != std::string::npos);
    CHECK_FALSE(error_of("bool", value).empty());
  }
  for (const std::string value :
       {"a[i] + b[i]", "a[i] - b[i]", "2 * a[i]", "less(x[i], k[i]) + less(x[i], 0)", "sum(p < n) a[p]",
        "k[i] if i = 0 else a[i]", "less(a[i], b[i]) + less(b[i], x[i])"}) {
    INFO(value);
    CHECK_FALSE(error_of("bool", value).empty());
  }
}

TEST_CASE("only the elementwise exponential of the one input can be declared as positive") {
  const auto error_of_operator = [](const std::string& inputs, const std::string& output) -> std::string {
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
  CHECK(error_of_operator("x[d...]", "y[i... < d...] of positive = exp(x[i...])").empty());
  CHECK(error_of_operator("x[m, n]", "y[i < m, j < n] of positive = exp(x[i, j])").empty());
  const std::pair<const char*, const char*> others[] = {
      {"x[m, n]", "y[i < m, j < n] of positive = x[i, j]"},
      {"x[m, n]", "y[i < m, j < n] of positive = sigmoid(x[i, j])"},  // below 1
      {"x[m, n]", "y[i < m, j < n] of positive = larger(x[i, j])"},   // above 1
      {"x[m, n]", "y[i < m, j < n] of positive = exp(x[i, 0])"},      // constant in each row
      {"x[m, n]", "y[i < n, j < m] of positive = exp(x[j, i])"},      // another shape
      {"x[m, n]", "y[i < m, j < n] of positive = exp(x[i, j + 1])"},
      {"x[n, n]", "y[i < n, j < n] of positive = exp(x[i, j])"},  // square inputs only
      {"x[m, n]", "y[i < m, j < n] of positive = 2 * exp(x[i, j])"},
      {"x[m, n], z[m, n]", "y[i < m, j < n] of positive = exp(x[i, j])"},
  };
  for (const auto& [inputs, output] : others) {
    INFO(output);
    CHECK(error_of_operator(inputs, output).find("'y' is not shown to be positive") != std::string::npos);
  }
}
