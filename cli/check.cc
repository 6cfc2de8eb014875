// `rulemill check`: replays every certificate of a rule database.
#include <fmt/format.h>

#include "cli/command.h"
#include "prove/check.h"
#include "prove/replay.h"
#include "runtime/error.h"

namespace rulemill::cli {
namespace {

void report(Context& context, const prove::CheckReport& report, const prove::CheckOptions& options) {
  context.report = {{"by_definitions", report.by_definitions}, {"by_derivation", report.by_derivation},
                    {"obligations", report.obligations},       {"theorems", report.theorems},
                    {"median_bytes", report.median_bytes},     {"seconds_rebuild", report.seconds_rebuild},
                    {"seconds_z3", report.seconds_z3},         {"seconds_cvc5", report.seconds_cvc5},
                    {"findings", runtime::Json::array()}};
  std::string text;
  for (const prove::CheckFinding& finding : report.findings) {
    context.report["findings"].push_back({{"rule", finding.rule}, {"what", finding.what}});
    text += (finding.rule.empty() ? "theorem" : finding.rule) + ": " + finding.what + "\n";
  }
  text += fmt::format("{} rules by definitions ({} obligations), {} by derivation, {} theorems behind lemmas\n",
                      report.by_definitions, report.obligations, report.by_derivation, report.theorems);
  text += fmt::format("median certificate {} bytes; proved again in {:.2f} s, replayed by Z3 in {:.2f} s",
                      report.median_bytes, report.seconds_rebuild, report.seconds_z3);
  text += options.cvc5.empty() ? "\n" : fmt::format(", by cvc5 in {:.2f} s\n", report.seconds_cvc5);
  context.print(text);
}

void check(Context& context, bool second_opinion) {
  prove::CheckOptions options;
  if (second_opinion) {
    options.cvc5 = prove::find_cvc5();
    if (options.cvc5.empty()) throw runtime::UsageError("--second-opinion", "there is no cvc5 on PATH");
  }
  on_first_rank(context.world, [&] {
    algebra::Library library = load_library(context.options);
    algebra::TermBank bank(library);
    algebra::Symbols symbols;
    const std::filesystem::path file = rules_file(context.options);
    const algebra::RuleSet rules = algebra::load_rule_set(file, library, bank, symbols);
    const prove::CheckReport result = prove::check(rules, library, bank, symbols, options);
    report(context, result, options);
    if (result.findings.empty()) return;
    throw runtime::Error(file.string(), fmt::format("{} of its certificates do not hold", result.findings.size()));
  });
}

}  // namespace

void add_check(CLI::App& app, Options& options, Command& chosen) {
  auto* checking = app.add_subcommand("check", "Replay every certificate of a rule database");
  auto second = std::make_shared<bool>(false);
  checking->add_option("RULES", options.rules, "rule database, or the folder that has one")->required();
  checking->add_flag("--second-opinion", *second, "ask cvc5, too");
  add_definitions_option(*checking, options);
  add_common_options(*checking, options);
  checking->callback([second, &chosen] { chosen = [second](Context& context) { check(context, *second); }; });
}

}  // namespace rulemill::cli
