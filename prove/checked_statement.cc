#include "prove/checked_statement.h"

#include "algebra/terms/rule_text.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/check.h"
#include "prove/tasks/candidate_result.h"
#include "prove/tasks/definition_proof.h"
#include "runtime/text/error.h"

namespace rulemill::prove {
namespace {

/// The statement as it is printed after parsing: the factors of a size are in the order in which its text names them.
std::string printed_again(const std::string& statement, algebra::Library& library) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  return algebra::to_string(algebra::parse_rule(statement, "statement", library, bank, symbols), bank, symbols);
}

}  // namespace

std::optional<algebra::Certificate> checked_certificate(const std::string& statement, algebra::Library& library,
                                                        const ProverOptions& options) {
  try {
    CandidateResult result = prove_rule(statement, library, options);
    // A rule that was typed or narrowed to another statement says less.
    if (result.status != RuleStatus::Proved || result.rule != printed_again(statement, library)) return std::nullopt;
    std::string reason;
    const auto certificate = certify_by_definitions(statement, library, options, reason);
    if (!certificate) return std::nullopt;
    result.certificate = to_string(*certificate);
    algebra::TermBank bank(library);
    algebra::Symbols symbols;
    algebra::RuleSet rules;
    rules.rules.push_back(record_of(result, "statement", library, bank, symbols));
    if (!check(rules, library, bank, symbols, CheckOptions()).findings.empty()) return std::nullopt;
    return rules.rules[0].certificate;
  } catch (const runtime::InputError&) {
    return std::nullopt;
  }
}

}  // namespace rulemill::prove
