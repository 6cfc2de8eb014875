// Verdicts on rules in text form from the definitions alone. Each call starts from scratch, so that its result depends
// only on the text.
#pragma once

#include <optional>
#include <string>

#include "prove/prover/prover.h"
#include "prove/tasks/candidate_result.h"

namespace rulemill::prove {

/// A candidate in text form, as in candidates.rules: a rule with the shapes of an example.
struct CandidateRule {
  algebra::Rule rule;  // without shapes
  std::vector<std::vector<std::int64_t>> example;
};
CandidateRule parse_candidate(const std::string& candidate, algebra::Library& library, algebra::TermBank& bank,
                              algebra::Symbols& symbols);

/// Proves or refutes a candidate. The result's rule is typed and has the condition found.
CandidateResult prove_candidate(const std::string& candidate, algebra::Library& library, const ProverOptions& options);
/// Proves or refutes a typed rule.
CandidateResult prove_rule(const std::string& rule, algebra::Library& library, const ProverOptions& options);
/// Returns a counterexample to a typed rule in text form; nullopt if none is found.
std::optional<Counterexample> find_counterexample(const std::string& rule, algebra::Library& library,
                                                  const ProverOptions& options);
/// Proves the general form of a typed rule (generalize.h), with its certificate; unknown if it has none.
CandidateResult generalize_rule(const std::string& rule, algebra::Library& library, const ProverOptions& options);
/// Returns whether a typed rule's sides are proved to be undefined at the same points.
bool has_same_domain(const std::string& rule, algebra::Library& library, const ProverOptions& options);

}  // namespace rulemill::prove
