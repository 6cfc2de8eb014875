#include "algebra/properties/positivity.h"

#include <catch2/catch.hpp>

#include "algebra/library/library.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

/// Whether the output is shown to be positive for positive a[n], b[n], c[1] and any x[n].
bool is_positive(const std::string& value) {
  Library library;
  library.add(
      "function exp(t) = exp(t)\nfunction sigmoid(t) = 1 / (1 + exp(-t))\nfunction recip(t) = 1 / t\n"
      "function sqrt(t) = sqrt(t)\nfunction relu(t) = max(t, 0)\nfunction most(s, t) = max(s, t)\n"
      "function least(s, t) = min(s, t)\nfunction log(t) = log(t)\n"
      "operator g(a[n], b[n], c[1], x[n])\n  y[i < n] = " +
          value,
      "d.op");
  const std::uint32_t ranks[] = {1, 1, 1, 1};
  return positive_outputs(library.instantiate("g", {}, ranks), library.functions(), {true, true, true, false})[0];
}

}  // namespace

TEST_CASE("an output is positive by the signs of its formula") {
  for (const std::string value :
       {"a[i]", "2", "a[i] * b[i]", "a[i] + b[i] * c[0]", "a[i] / 3", "exp(x[i])", "sigmoid(x[i])", "recip(a[i])",
        "sqrt(a[i] + 1)", "most(x[i], a[i])", "least(a[i], b[i])", "sum(p < n) a[p]", "sum(p < n) exp(x[p])",
        "a[i] + relu(x[i])", "recip(1 + exp(-x[i]))", "max(p < n) a[p]", "a[i] if i = 0 else exp(x[i])"}) {
    INFO(value);
    CHECK(is_positive(value));
  }
}

TEST_CASE("an output that may be 0 or negative is not shown to be positive") {
  for (const std::string value : {"x[i]",
                                  "0",
                                  "0 - a[i]",
                                  "a[i] - b[i]",
                                  "a[i] * x[i]",
                                  "relu(x[i])",
                                  "x[i] * x[i]",
                                  "log(a[i])",
                                  "least(a[i], x[i])",
                                  "a[i + 1]",
                                  "a[i - 1]",
                                  "a[2 * i]",
                                  "a[3]",
                                  "c[1]",
                                  "sum(p < n - 1) a[p]",
                                  "sum(p < n) x[p]",
                                  "max(p < n where p < i) a[p]",
                                  "a[i] if i = 0 else 0",
                                  "a[i] if i = 0 else x[i]",
                                  "recip(x[i])"}) {
    INFO(value);
    CHECK_FALSE(is_positive(value));
  }
}
