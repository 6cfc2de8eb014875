#include "prove/verdict.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace rulemill::prove {

const char* name(Standing standing) {
  static constexpr std::array<const char*, 6> names = {"proved",  "derived",   "refuted",
                                                       "unknown", "ill-typed", "unreadable"};
  return names.at(static_cast<std::size_t>(standing));
}

Standing standing(const Verdict& verdict) {
  if (std::holds_alternative<Proved>(verdict)) return Standing::Proved;
  if (std::holds_alternative<Refuted>(verdict)) return Standing::Refuted;
  return std::holds_alternative<IllTyped>(verdict) ? Standing::IllTyped : Standing::Unknown;
}

std::string detail(const Verdict& verdict) {
  if (const auto* refuted = std::get_if<Refuted>(&verdict)) return to_string(refuted->counterexample);
  if (const auto* unknown = std::get_if<Unknown>(&verdict)) return unknown->reason;
  if (const auto* ill_typed = std::get_if<IllTyped>(&verdict)) return ill_typed->what;
  return {};
}

const algebra::TypedRule* typed_rule(const Verdict& verdict) {
  if (const auto* proved = std::get_if<Proved>(&verdict)) return &proved->typed;
  const auto* refuted = std::get_if<Refuted>(&verdict);
  return refuted == nullptr ? nullptr : &refuted->typed;
}

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
