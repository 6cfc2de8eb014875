// A counterexample to a rule: sizes and inputs at which its sides differ.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/text/json.h"

namespace rulemill::prove {

struct Counterexample {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> shapes;  // variable, shape
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  std::vector<std::vector<double>> inputs;  // by variable, row-major
  std::size_t output = 0;
  std::vector<std::int64_t> position;
  double source = 0, target = 0;
};

struct NamedCounterexample {
  std::string rule;
  Counterexample counterexample;
};

/// Returns one line with the position at which the sides differ and both values.
std::string to_string(const Counterexample& counterexample);
/// Returns the inputs and sizes as lines of Python with NumPy as np, such as "x = np.array([1, -2]).reshape(1, 2)".
std::string numpy_text(const Counterexample& counterexample);
/// Returns the same of the first counterexamples that are small, each below the name of its rule.
std::string numpy_text(const std::vector<NamedCounterexample>& counterexamples);
/// Returns all that is needed to evaluate both sides again. An undefined value is null.
runtime::Json to_json(const Counterexample& counterexample);

}  // namespace rulemill::prove
