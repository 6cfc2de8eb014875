#include "prove/tasks/definition_proof.h"

#include "algebra/terms/rule_text.h"
#include "prove/tasks/generalize.h"
#include "runtime/text/error.h"

namespace rulemill::prove {
namespace {

void set_verdict(const Verdict& verdict, CandidateResult& result, const algebra::TermBank& bank,
                 const algebra::Symbols& symbols) {
  result.status = status(verdict);
  result.detail = detail(verdict);
  if (result.status == RuleStatus::Narrowed) {
    result.status = RuleStatus::Unknown;
    result.detail = "proved only " + result.detail;
  }
  if (const auto* typed = typed_rule(verdict)) result.rule = algebra::to_string(typed->rule, bank, symbols);
}

}  // namespace

CandidateRule parse_candidate(const std::string& candidate, algebra::Library& library, algebra::TermBank& bank,
                              algebra::Symbols& symbols) {
  CandidateRule result{algebra::parse_rule(candidate, "candidate", library, bank, symbols), {}};
  for (const algebra::Shape& shape : result.rule.shapes) {
    auto& dims = result.example.emplace_back();
    for (const algebra::Poly& dim : shape) dims.push_back(dim.constant().value());
  }
  result.rule.shapes.clear();
  return result;
}

CandidateResult prove_candidate(const std::string& candidate, algebra::Library& library, const ProverOptions& options) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  Prover prover(bank, symbols, options);
  CandidateRule parsed = parse_candidate(candidate, library, bank, symbols);
  CandidateResult result;
  result.candidate = parsed.rule.id;
  result.example = std::move(parsed.example);
  set_verdict(prover.prove(parsed.rule, &result.example), result, bank, symbols);
  result.queries = prover.queries();
  return result;
}

CandidateResult prove_rule(const std::string& rule, algebra::Library& library, const ProverOptions& options) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  Prover prover(bank, symbols, options);
  const algebra::Rule parsed = algebra::parse_rule(rule, "rule", library, bank, symbols);
  CandidateResult result;
  result.candidate = parsed.id;
  result.rule = rule;
  set_verdict(prover.prove(parsed), result, bank, symbols);
  result.queries = prover.queries();
  return result;
}

std::optional<Counterexample> find_counterexample(const std::string& rule, algebra::Library& library,
                                                  const ProverOptions& options) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  Prover prover(bank, symbols, options);
  const Verdict verdict = prover.prove(algebra::parse_rule(rule, "rule", library, bank, symbols));
  const auto* refuted = std::get_if<Refuted>(&verdict);
  return refuted ? std::optional(refuted->counterexample) : std::nullopt;
}

CandidateResult generalize_rule(const std::string& rule, algebra::Library& library, const ProverOptions& options) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const algebra::Rule parsed = algebra::parse_rule(rule, "rule", library, bank, symbols);
  CandidateResult result;
  result.candidate = parsed.id;
  if (auto general = generalize(parsed, library, bank, symbols, options)) {
    result.status = RuleStatus::Proved;
    result.rule = algebra::to_string(general->rule, bank, symbols);
    result.certificate = std::move(general->certificate);
  }
  return result;
}

bool has_same_domain(const std::string& rule, algebra::Library& library, const ProverOptions& options) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  Prover prover(bank, symbols, options);
  const auto typed = algebra::try_typing(algebra::parse_rule(rule, "rule", library, bank, symbols), bank, symbols);
  return typed && prover.prove_same_domain(*typed).proved;
}

}  // namespace rulemill::prove
