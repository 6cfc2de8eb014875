#include "prove/farm/record.h"

#include <algorithm>

#include "algebra/terms/rule_text.h"

namespace rulemill::prove {
namespace {

using algebra::TermId;

/// Whether a rule can be applied from the one side to the other.
bool usable(const std::vector<TermId>& from, const std::vector<TermId>& to, const algebra::TermBank& bank) {
  const std::vector<TermId> known = bank.variables(from);
  const bool covered = std::ranges::all_of(
      bank.variables(to), [&](TermId variable) { return std::ranges::find(known, variable) != known.end(); });
  return covered && std::ranges::all_of(from, [&](TermId term) { return !bank.term(term).is_variable; });
}

}  // namespace

algebra::RuleRecord record_of(const Outcome& outcome, const std::string& id, algebra::Library& library,
                              algebra::TermBank& bank, algebra::Symbols& symbols) {
  algebra::RuleRecord result;
  algebra::Rule rule = algebra::parse_rules(outcome.rule, "rule", library, bank, symbols).at(0);
  rule.id = id;
  const bool forward = usable(rule.source, rule.target, bank), backward = usable(rule.target, rule.source, bank);
  if (!forward && backward) std::swap(rule.source, rule.target);
  result.reversible = forward && backward;
  rule.tier = outcome.kind == Outcome::Kind::Proved ? algebra::Tier::Core : algebra::Tier::Shortcut;
  result.rule = std::move(rule);
  result.certificate.kind = outcome.kind == Outcome::Kind::Proved ? algebra::Certificate::Kind::Definitions
                                                                  : algebra::Certificate::Kind::Derivation;
  result.certificate.text = outcome.certificate;
  result.statistics = {outcome.queries, outcome.instances};
  result.example = outcome.example;
  return result;
}

}  // namespace rulemill::prove
