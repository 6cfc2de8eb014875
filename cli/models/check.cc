// `rulemill check`: checks every certificate of a rule database.
#include <fmt/format.h>

#include "algebra/terms/rule_text.h"
#include "cli/models/equality_proofs.h"
#include "cli/run/audit_report.h"
#include "cli/run/proof_options.h"
#include "optimize/equal/equality_report.h"
#include "prove/core/audit.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

void report(Context& context, const prove::CheckReport& report, const prove::CheckOptions& options) {
  context.report = {{"proved_from_definitions", report.by_definitions},
                    {"derived", report.by_derivation},
                    {"obligations", report.obligations},
                    {"identities", report.identities},
                    {"without_obligations", report.without_obligations},
                    {"evaluated", report.evaluated},
                    {"assuming_laws", report.assuming_laws},
                    {"median_bytes", report.median_bytes},
                    {"seconds_check", report.seconds_kernel},
                    {"seconds_evaluate", report.seconds_evaluate},
                    {"seconds_z3", report.seconds_z3},
                    {"seconds_cvc5", report.seconds_cvc5},
                    {"findings", runtime::Json::array()}};
  std::string text;
  for (const prove::CheckFinding& finding : report.findings) {
    context.report["findings"].push_back({{"rule", finding.rule}, {"reason", finding.what}});
    text += finding.rule + ": " + finding.what + "\n";
  }
  text +=
      fmt::format("{} rules proved from the definitions: {} obligations, {} identities; {} rules have no obligations\n",
                  report.by_definitions, report.obligations, report.identities, report.without_obligations);
  text += fmt::format("{} derived rules; {} of all rules evaluated at random sizes in {:.2f} s\n", report.by_derivation,
                      report.evaluated, report.seconds_evaluate);
  if (report.assuming_laws > 0)
    text += fmt::format("{} rules depend on assumed laws, which their certificates name\n", report.assuming_laws);
  text += fmt::format("median certificate {} bytes; checked in {:.2f} s, obligations by Z3 in {:.2f} s",
                      report.median_bytes, report.seconds_kernel, report.seconds_z3);
  text += options.cvc5.empty() ? "\n" : fmt::format(", by cvc5 in {:.2f} s\n", report.seconds_cvc5);
  context.print(text);
}

struct CheckCommandOptions {
  std::string after, model_proof;
  bool cvc5 = false, cross_check = false, core_minimality = false;
  ProofOptions proofs;
};

/// Prints the result. Throws Error on every rank if a certificate is invalid, or if a rule cannot be read. Collective.
void require_valid(Context& context, const prove::DatabaseCheck& result, const prove::CheckOptions& options) {
  runtime::on_first_rank(context.world, [&] {
    if (const auto* malformed = std::get_if<prove::MalformedRecord>(&result))
      throw runtime::InputError("", malformed->what);
    const auto& checked = std::get<prove::CheckReport>(result);
    report(context, checked, options);
    if (checked.findings.empty()) return;
    throw runtime::Error(rules_file(context.options).string(),
                         fmt::format("{} certificates are invalid", checked.findings.size()));
  });
}

/// Checks the certificates. Returns the database's provenance on the first rank. Collective.
algebra::Provenance check_certificates(Context& context, algebra::Library& library,
                                       const prove::WorkerProcessOptions& workers, bool with_cvc5) {
  std::optional<algebra::RuleSetFile> rules;
  prove::CheckOptions options;
  runtime::on_first_rank(context.world, [&] {
    rules.emplace(rules_file(context.options), library);
    if (!with_cvc5) return;
    options.cvc5 = prove::find_cvc5();
    if (options.cvc5.empty())
      throw runtime::UsageError("--cvc5",
                                "cvc5 is neither beside rulemill nor on PATH; on Debian: apt-get install cvc5");
  });
  prove::TaskScheduler scheduler(context.world, library, workers, "check");
  prove::DatabaseCheck result;
  scheduler.run_collective(
      [&] { result = prove::check_database(*rules, library, scheduler, options, context.progress); });
  require_valid(context, result, options);
  return rules ? rules->provenance() : algebra::Provenance();
}

/// Follows a proof that two models are equal.
void check_models(Context& context, const CheckCommandOptions& given) {
  if (!context.world.is_root()) return;
  if (given.after.empty() || given.model_proof.empty())
    throw runtime::UsageError("check", "takes two models together with --proof");
  const optimize::EqualityResult followed =
      optimize::follow_proof(equality_options(context.options, context.options.rules, given.after), given.model_proof);
  context.print(optimize::followed_proof_text(followed));
  context.report["models"] = optimize::followed_proof_json(followed);
}

void check(Context& context, const CheckCommandOptions& given) {
  if (!given.after.empty() || !given.model_proof.empty()) return check_models(context, given);
  algebra::Library library = load_library(context.options);
  prove::WorkerProcessOptions workers = worker_options(context.options, given.proofs);
  const algebra::Provenance provenance = check_certificates(context, library, workers, given.cvc5);
  if (!given.core_minimality && !given.cross_check) return;
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  algebra::RuleSet rules;
  runtime::on_first_rank(context.world,
                         [&] { rules = algebra::load_rule_set(rules_file(context.options), library, bank, symbols); });
  if (!provenance.seeds.empty()) workers.worker.prover.seed = provenance.seeds[0];
  if (given.core_minimality) {
    prove::TaskScheduler scheduler(context.world, library, workers);
    prove::MinimalityReport result;
    scheduler.run_collective([&] { result = prove::check_minimality(rules, library, bank, symbols, scheduler); });
    report_minimality(context, result, scheduler.rank_statistics());
  }
  if (given.cross_check) {
    prove::TaskScheduler scheduler(context.world, library, workers);
    prove::CrossCheckReport result;
    scheduler.run_collective([&] {
      std::vector<std::string> derived;
      for (const algebra::RuleRecord& record : rules.rules) {
        if (record.certificate.kind != algebra::Certificate::Kind::Derivation) continue;
        derived.push_back(algebra::to_string(record.rule, bank, symbols));
      }
      result = prove::cross_check(derived, scheduler);
    });
    report_cross_check(context, result, scheduler.rank_statistics());
  }
}

}  // namespace

void add_check(CLI::App& app, Options& options, Command& chosen) {
  auto* checking =
      app.add_subcommand("check", "Check every certificate of a rule database, or the proof that two models are equal");
  auto given = std::make_shared<CheckCommandOptions>();
  add_rules_operand(*checking, options, "; with --proof, the first model");
  options.files.reads(checking->add_option("AFTER", given->after, "with --proof, the second model"), PathKind::Model);
  auto* proof = options.files.reads(
      checking->add_option("--proof", given->model_proof, "proof of `equal` or `optimize` that both models are equal"));
  checking->add_flag("--cvc5", given->cvc5, "confirm the obligations with cvc5, too")->excludes(proof);
  checking
      ->add_flag("--cross-check", given->cross_check,
                 "prove derived rules from the definitions, too; fail if one of them is false")
      ->excludes(proof);
  checking
      ->add_flag("--core-minimality", given->core_minimality,
                 "verify that no core rule is implied by the others, and that the core implies every derived rule")
      ->excludes(proof);
  add_proof_options(*checking, given->proofs);
  add_general_options(*checking, options);
  choose(*checking, chosen, check, given);
}

}  // namespace rulemill::cli
