#include "prove/refuter/counterexample.h"

#include <fmt/format.h>

#include <cmath>

namespace rulemill::prove {

namespace {

std::string list(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

}  // namespace

std::string to_string(const Counterexample& counterexample) {
  std::string shapes;
  for (const auto& [variable, shape] : counterexample.shapes) {
    shapes += (shapes.empty() ? "" : ", ") + variable + list(shape);
  }
  const auto value = [](double number) { return std::isnan(number) ? "undefined" : fmt::format("{:g}", number); };
  return fmt::format("at {} output {} element {}: the source is {}, the target {}", shapes, counterexample.output,
                     list(counterexample.position), value(counterexample.source), value(counterexample.target));
}

}  // namespace rulemill::prove
