#include "cli/models/equality_proofs.h"

#include <fmt/format.h>

#include "cli/model_processes.h"
#include "cli/rules/rule_database.h"
#include "optimize/equal/proof/result_proof.h"
#include "optimize/onnx/format/model.h"
#include "prove/checked_statement.h"

namespace rulemill::cli {
namespace {

std::optional<algebra::Certificate> statement_proof(const std::string& statement, algebra::Library& library) {
  return prove::checked_certificate(statement, library, {});
}

}  // namespace

std::string searched_proof(const optimize::SearchedResult& searched) {
  const auto proof = optimize::proof_of_result(searched, statement_proof);
  return proof ? proof->SerializeAsString() : "";
}

optimize::EqualityOptions equality_options(const Options& options, const std::filesystem::path& before,
                                           const std::filesystem::path& after) {
  optimize::EqualityOptions equality;
  equality.before = before;
  equality.after = after;
  equality.rule_check = require_valid_certificates;
  equality.statement_proof = statement_proof;
  equality.operators = definitions_folder(options);
  equality.type_helper = type_helper_command();
  return equality;
}

Databases find_databases(const Context& context, const std::vector<std::string>& given,
                         const std::vector<std::filesystem::path>& models) {
  if (!given.empty()) return {{given.begin(), given.end()}, {}};
  for (const auto& model : models) optimize::OnnxModel::read(model);
  DefaultRules defaults = default_rules(context);
  return {{defaults.database}, defaults};
}

optimize::EqualityResult prove_result(const Options& options, const std::filesystem::path& model,
                                      const std::filesystem::path& result, std::vector<std::filesystem::path> rules,
                                      const std::filesystem::path& proof, const std::string& searched_proof) {
  optimize::EqualityOptions equality = equality_options(options, model, result);
  equality.rules = std::move(rules);
  equality.refutes = false;
  equality.proof = proof;
  equality.searched_proof = searched_proof;
  optimize::EqualityResult shown = optimize::compare_models(equality);
  if (shown.verdict != optimize::EqualityResult::Verdict::Equal)
    shown.proof_gap =
        shown.open ? fmt::format("no rule shows value {}", shown.open->value) : "no rule shows all outputs";
  return shown;
}

optimize::EqualityVerifier equality_verifier(std::function<std::vector<std::filesystem::path>()> rules,
                                             const Options& options) {
  return [rules = std::move(rules), &options](const std::filesystem::path& before, const std::filesystem::path& after) {
    const optimize::EqualityResult shown = prove_result(options, before, after, rules());
    optimize::VerificationResult result;
    result.verifier = "rules";
    result.seconds = shown.seconds;
    if (shown.verdict == optimize::EqualityResult::Verdict::Equal) return result;
    result.verdict = optimize::VerificationResult::Verdict::NotVerified;
    result.reason = shown.proof_gap;
    return result;
  };
}

}  // namespace rulemill::cli
