#include "prove/core/rule_record.h"

#include <algorithm>

#include "algebra/terms/rule_text.h"

namespace rulemill::prove {
namespace {

using algebra::TermId;

/// Returns whether a rule can be applied from one side to the other.
bool is_applicable(const std::vector<TermId>& from, const std::vector<TermId>& to, const algebra::TermBank& bank) {
  const std::vector<TermId> known = bank.variables(from);
  const bool covered = std::ranges::all_of(
      bank.variables(to), [&](TermId variable) { return std::ranges::find(known, variable) != known.end(); });
  return covered && std::ranges::all_of(from, [&](TermId term) { return !bank.term(term).is_variable; });
}

}  // namespace

algebra::RuleRecord record_of(const CandidateResult& result, const std::string& id, algebra::Library& library,
                              algebra::TermBank& bank, algebra::Symbols& symbols) {
  algebra::RuleRecord record;
  algebra::Rule rule = algebra::parse_rule(result.rule, "rule", library, bank, symbols);
  rule.id = id;
  const bool forward = is_applicable(rule.source, rule.target, bank),
             backward = is_applicable(rule.target, rule.source, bank);
  if (!forward && backward) std::swap(rule.source, rule.target);
  record.reversible = forward && backward;
  rule.tier = result.status == RuleStatus::Proved ? algebra::Tier::Core : algebra::Tier::Derived;
  record.rule = std::move(rule);
  record.certificate.kind = result.status == RuleStatus::Proved ? algebra::Certificate::Kind::Definitions
                                                                : algebra::Certificate::Kind::Derivation;
  record.certificate.text = result.certificate;
  record.statistics = {result.queries, result.instance_count};
  record.example = result.example;
  return record;
}

}  // namespace rulemill::prove
