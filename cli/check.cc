// `rulemill check`: replays every certificate of a rule database.
#include <fmt/format.h>

#include "algebra/terms/rule_text.h"
#include "cli/audit_report.h"
#include "cli/proof_options.h"
#include "prove/certificate/check.h"
#include "prove/certificate/replay.h"
#include "runtime/error.h"

namespace rulemill::cli {
namespace {

void report(Context& context, const prove::CheckReport& report, const prove::CheckOptions& options) {
  context.report = {{"by_definitions", report.by_definitions}, {"by_derivation", report.by_derivation},
                    {"obligations", report.obligations},       {"identities", report.identities},
                    {"without_obligations", report.without},   {"evaluated", report.evaluated},
                    {"assuming_laws", report.assuming},        {"median_bytes", report.median_bytes},
                    {"seconds_follow", report.seconds_follow}, {"seconds_evaluate", report.seconds_evaluate},
                    {"seconds_z3", report.seconds_z3},         {"seconds_cvc5", report.seconds_cvc5},
                    {"findings", runtime::Json::array()}};
  std::string text;
  for (const prove::CheckFinding& finding : report.findings) {
    context.report["findings"].push_back({{"rule", finding.rule}, {"what", finding.what}});
    text += finding.rule + ": " + finding.what + "\n";
  }
  text += fmt::format("{} rules by definitions: {} obligations, {} identities; {} rules are identities alone\n",
                      report.by_definitions, report.obligations, report.identities, report.without);
  text += fmt::format("{} rules by derivation; {} of all rules evaluated at random sizes in {:.2f} s\n",
                      report.by_derivation, report.evaluated, report.seconds_evaluate);
  if (report.assuming > 0)
    text += fmt::format("{} rules rest on laws that are assumed, as their certificates say\n", report.assuming);
  text += fmt::format("median certificate {} bytes; followed in {:.2f} s, replayed by Z3 in {:.2f} s",
                      report.median_bytes, report.seconds_follow, report.seconds_z3);
  text += options.cvc5.empty() ? "\n" : fmt::format(", by cvc5 in {:.2f} s\n", report.seconds_cvc5);
  context.print(text);
}

struct CheckChoice {
  bool second_opinion = false, cross_check = false, minimal = false;
  ProofOptions proofs;
};

void replay(Context& context, const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
            algebra::Symbols& symbols, const CheckChoice& choice) {
  prove::CheckOptions options;
  if (choice.second_opinion) {
    options.cvc5 = prove::find_cvc5();
    if (options.cvc5.empty()) throw runtime::UsageError("--second-opinion", "there is no cvc5 on PATH");
  }
  const prove::CheckReport result = prove::check(rules, library, bank, symbols, options);
  report(context, result, options);
  if (result.findings.empty()) return;
  throw runtime::Error(rules_file(context.options).string(),
                       fmt::format("{} of its certificates do not hold", result.findings.size()));
}

void check(Context& context, const CheckChoice& choice) {
  algebra::Library library = load_library(context.options);
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  algebra::RuleSet rules;
  on_first_rank(context.world, [&] {
    rules = algebra::load_rule_set(rules_file(context.options), library, bank, symbols);
    replay(context, rules, library, bank, symbols, choice);
  });
  prove::WorkerProcessOptions helper = worker_options(context.options, choice.proofs);
  if (!rules.provenance.seeds.empty()) helper.worker.prover.seed = rules.provenance.seeds[0];
  if (choice.minimal) {
    prove::Crew crew(context.world, library, helper);
    prove::MinimalityReport result;
    crew.work([&] { result = prove::check_minimality(rules, library, bank, symbols, crew); });
    show_minimality(context, result, crew.figures());
  }
  if (choice.cross_check) {
    prove::Crew crew(context.world, library, helper);
    prove::CrossReport result;
    crew.work([&] {
      std::vector<std::string> derived;
      for (const algebra::RuleRecord& record : rules.rules) {
        if (record.certificate.kind != algebra::Certificate::Kind::Derivation) continue;
        derived.push_back(algebra::to_string(record.rule, bank, symbols));
      }
      result = prove::cross_check(derived, crew);
    });
    show_cross_check(context, result, crew.figures());
  }
}

}  // namespace

void add_check(CLI::App& app, Options& options, Command& chosen) {
  auto* checking = app.add_subcommand("check", "Replay every certificate of a rule database");
  auto choice = std::make_shared<CheckChoice>();
  checking->add_option("RULES", options.rules, "rule database, or the folder that has one")->required();
  checking->add_flag("--second-opinion", choice->second_opinion, "ask cvc5, too");
  checking->add_flag("--cross-check", choice->cross_check,
                     "prove derived rules from the definitions, too; both must agree");
  checking->add_flag("--minimal", choice->minimal,
                     "ask of every core rule whether the others imply it, and of every shortcut whether the core does");
  add_proof_options(*checking, choice->proofs);
  add_definitions_option(*checking, options);
  add_common_options(*checking, options);
  checking->callback([choice, &chosen] { chosen = [choice](Context& context) { check(context, *choice); }; });
}

}  // namespace rulemill::cli
