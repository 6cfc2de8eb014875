#include "cli/models/equality_proofs.h"

#include <fmt/format.h>

#include "cli/model_processes.h"
#include "cli/rules/rule_check.h"
#include "optimize/equal/equality_report.h"
#include "prove/checked_statement.h"

namespace rulemill::cli {

void set_equality_proofs(optimize::EqualityOptions& equality, const Options& options) {
  equality.rule_check = require_valid_certificates;
  equality.statement_proof = [](const std::string& statement, algebra::Library& library) {
    return prove::checked_certificate(statement, library, {});
  };
  equality.operators = definitions_folder(options);
  equality.type_helper = type_helper_command();
}

void write_result_proof(Context& context, const std::filesystem::path& model, const std::filesystem::path& result,
                        std::vector<std::filesystem::path> rules, const std::filesystem::path& proof) {
  optimize::EqualityOptions equality;
  set_equality_proofs(equality, context.options);
  equality.before = model;
  equality.after = result;
  equality.rules = std::move(rules);
  equality.refutes = false;
  equality.proof = proof;
  optimize::EqualityResult shown = optimize::compare_models(equality);
  if (shown.verdict != optimize::EqualityResult::Verdict::Equal)
    shown.proof_gap = shown.open ? fmt::format("no rule shows value {}", shown.open->value) : "equality is not shown";
  context.print(optimize::written_proof_text(shown));
  context.report["proof"] = {{"bytes", shown.proof_bytes}, {"gap", shown.proof_gap}, {"seconds", shown.seconds}};
}

optimize::EqualityVerifier equality_verifier(std::function<std::vector<std::filesystem::path>()> rules,
                                             const Options& options) {
  return [rules = std::move(rules), &options](const std::filesystem::path& before, const std::filesystem::path& after) {
    optimize::EqualityOptions equality;
    set_equality_proofs(equality, options);
    equality.before = before;
    equality.after = after;
    equality.rules = rules();
    equality.refutes = false;
    const optimize::EqualityResult shown = optimize::compare_models(equality);
    optimize::VerificationResult result;
    result.verifier = "rules";
    result.seconds = shown.seconds;
    if (shown.verdict == optimize::EqualityResult::Verdict::Equal) return result;
    result.verdict = optimize::VerificationResult::Verdict::NotVerified;
    result.reason = shown.open ? fmt::format("no rule shows value {}", shown.open->value) : "no rule shows all outputs";
    return result;
  };
}

}  // namespace rulemill::cli
