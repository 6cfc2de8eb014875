#include "prove/farm/definition_proof.h"

#include "algebra/terms/rule_text.h"
#include "prove/farm/workbench.h"
#include "prove/generalize.h"

namespace rulemill::prove {
namespace {

void record(const Verdict& verdict, Outcome& outcome, const algebra::TermBank& bank, const algebra::Symbols& symbols) {
  outcome.kind = standing(verdict);
  outcome.detail = detail(verdict);
  if (const auto* typed = typed_rule(verdict)) outcome.rule = algebra::to_string(typed->rule, bank, symbols);
}

}  // namespace

Outcome prove_candidate(const std::string& candidate, algebra::Library& library, const ProverOptions& options) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  Prover prover(bank, symbols, options);
  CandidateRule parsed = parse_candidate(candidate, library, bank, symbols);
  Outcome outcome;
  outcome.candidate = parsed.rule.id;
  outcome.example = std::move(parsed.example);
  record(prover.prove(parsed.rule, &outcome.example), outcome, bank, symbols);
  outcome.queries = prover.solver_statistics().queries;
  return outcome;
}

Outcome prove_rule(const std::string& rule, algebra::Library& library, const ProverOptions& options) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  Prover prover(bank, symbols, options);
  const algebra::Rule parsed = algebra::parse_rules(rule, "rule", library, bank, symbols).at(0);
  Outcome outcome;
  outcome.candidate = parsed.id;
  outcome.rule = rule;
  record(prover.prove(parsed), outcome, bank, symbols);
  outcome.queries = prover.solver_statistics().queries;
  return outcome;
}

Outcome generalize_rule(const std::string& rule, algebra::Library& library, const ProverOptions& options) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const algebra::Rule parsed = algebra::parse_rules(rule, "rule", library, bank, symbols).at(0);
  Outcome outcome;
  outcome.candidate = parsed.id;
  if (auto general = generalize(parsed, library, bank, symbols, options)) {
    outcome.kind = Outcome::Kind::Proved;
    outcome.rule = algebra::to_string(general->rule, bank, symbols);
    outcome.certificate = std::move(general->certificate);
  }
  return outcome;
}

bool same_domain(const std::string& rule, algebra::Library& library, const ProverOptions& options) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  Prover prover(bank, symbols, options);
  const auto typed =
      algebra::infer_types(algebra::parse_rules(rule, "rule", library, bank, symbols).at(0), bank, symbols);
  const auto* types = std::get_if<algebra::TypedRule>(&typed);
  return types != nullptr && prover.same_domain(*types).proved;
}

}  // namespace rulemill::prove
