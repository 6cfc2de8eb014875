#include "prove/farm/definition_proof.h"

#include "algebra/terms/rule_text.h"
#include "prove/farm/workbench.h"
#include "prove/generalize.h"

namespace rulemill::prove {
namespace {

void record(const Verdict& verdict, Outcome& outcome, const algebra::TermBank& bank, const algebra::Symbols& symbols) {
  if (const auto* proved = std::get_if<Proved>(&verdict)) {
    outcome.rule = algebra::to_string(proved->typed.rule, bank, symbols);
    outcome.kind = Outcome::Kind::Proved;
  } else if (const auto* refuted = std::get_if<Refuted>(&verdict)) {
    outcome.rule = algebra::to_string(refuted->typed.rule, bank, symbols);
    outcome.kind = Outcome::Kind::Refuted;
    outcome.detail = to_string(refuted->counterexample);
  } else if (const auto* unknown = std::get_if<Unknown>(&verdict)) {
    outcome.kind = Outcome::Kind::Unknown;
    outcome.detail = unknown->reason;
  } else {
    outcome.kind = Outcome::Kind::IllTyped;
    outcome.detail = std::get<IllTyped>(verdict).what;
  }
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
