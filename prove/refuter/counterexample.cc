#include "prove/refuter/counterexample.h"

#include <fmt/format.h>

#include <cmath>

#include "runtime/text/join_text.h"

namespace rulemill::prove {
namespace {

std::string list(const std::vector<std::int64_t>& numbers) { return fmt::format("[{}]", fmt::join(numbers, ", ")); }

}  // namespace

std::string to_string(const Counterexample& counterexample) {
  const std::string shapes = runtime::join_text(
      counterexample.shapes, [](const auto& variable) { return variable.first + list(variable.second); });
  const double source = counterexample.source, target = counterexample.target;
  const auto text_of = [](double number, int digits) {
    return std::isnan(number) ? "undefined" : fmt::format("{:.{}g}", number, digits);
  };
  int digits = 6;
  while (digits < 17 && text_of(source, digits) == text_of(target, digits)) ++digits;
  return fmt::format("at {} output {} element {}: the source is {}, the target {}", shapes, counterexample.output,
                     list(counterexample.position), text_of(source, digits), text_of(target, digits));
}

std::string numpy_text(const Counterexample& counterexample) {
  std::string text;
  for (std::size_t v = 0; v < counterexample.shapes.size(); ++v) {
    const auto& [variable, shape] = counterexample.shapes[v];
    const std::string values = runtime::join_text(
        counterexample.inputs[v], [](double value) { return std::isnan(value) ? "np.nan" : fmt::format("{}", value); });
    text += fmt::format("{} = np.array([{}]).reshape({})\n", variable, values,
                        shape.empty() ? "()" : fmt::format("{}", fmt::join(shape, ", ")));
  }
  for (const auto& [size, value] : counterexample.sizes) text += fmt::format("{} = {}\n", size, value);
  return text;
}

std::string numpy_text(const std::vector<NamedCounterexample>& counterexamples) {
  constexpr std::size_t max_rules = 3, max_values = 64;
  std::string text;
  std::size_t shown = 0;
  for (const auto& [rule, counterexample] : counterexamples) {
    std::size_t values = 0;
    for (const auto& input : counterexample.inputs) values += input.size();
    if (values > max_values) continue;
    text += fmt::format("\n# {} is false here:\n{}", rule, numpy_text(counterexample));
    if (++shown == max_rules) break;
  }
  return text;
}

runtime::Json to_json(const Counterexample& counterexample) {
  runtime::Json sizes = runtime::Json::object(), inputs = runtime::Json::array();
  for (const auto& [name, value] : counterexample.sizes) sizes[name] = value;
  for (std::size_t v = 0; v < counterexample.shapes.size(); ++v) {
    const auto& [name, shape] = counterexample.shapes[v];
    inputs.push_back({{"name", name}, {"shape", shape}, {"values", counterexample.inputs.at(v)}});
  }
  return {{"sizes", std::move(sizes)},           {"inputs", std::move(inputs)},     {"output", counterexample.output},
          {"position", counterexample.position}, {"source", counterexample.source}, {"target", counterexample.target}};
}

}  // namespace rulemill::prove
