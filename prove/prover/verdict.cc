#include "prove/prover/verdict.h"

#include <array>

#include "runtime/text/printable.h"

namespace rulemill::prove {
namespace {

constexpr std::size_t max_reason_length = 200;

}  // namespace

const char* name(RuleStatus status) {
  static constexpr std::array<const char*, 7> names = {"proved",    "derived",    "refuted", "unknown",
                                                       "ill-typed", "unreadable", "narrowed"};
  return names.at(static_cast<std::size_t>(status));
}

RuleStatus status(const Verdict& verdict) {
  if (const auto* proved = std::get_if<Proved>(&verdict))
    return proved->narrowing.empty() ? RuleStatus::Proved : RuleStatus::Narrowed;
  if (std::holds_alternative<Refuted>(verdict)) return RuleStatus::Refuted;
  return std::holds_alternative<IllTyped>(verdict) ? RuleStatus::IllTyped : RuleStatus::Unknown;
}

std::string detail(const Verdict& verdict) {
  if (const auto* proved = std::get_if<Proved>(&verdict)) return proved->condition;
  if (const auto* refuted = std::get_if<Refuted>(&verdict)) return to_string(refuted->counterexample);
  if (const auto* unknown = std::get_if<Unknown>(&verdict))
    return runtime::make_printable(unknown->reason, max_reason_length);
  if (const auto* ill_typed = std::get_if<IllTyped>(&verdict)) return ill_typed->what;
  return {};
}

const algebra::TypedRule* typed_rule(const Verdict& verdict) {
  if (const auto* proved = std::get_if<Proved>(&verdict)) return &proved->typed;
  const auto* refuted = std::get_if<Refuted>(&verdict);
  return refuted == nullptr ? nullptr : &refuted->typed;
}

}  // namespace rulemill::prove
