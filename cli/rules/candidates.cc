#include "cli/rules/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "cli/rules/rule_database.h"
#include "cli/text_table.h"
#include "prove/prove_candidates.h"
#include "prove/prune.h"
#include "prove/tasks/definition_proof.h"
#include "runtime/text/error.h"
#include "runtime/text/join_text.h"

namespace rulemill::cli {
namespace {

using prove::CandidateResult;

/// Returns the outcomes of the run's candidates; proved ones without a checkable proof are unknown.
std::vector<CandidateResult> read_candidates(const std::filesystem::path& folder) {
  std::map<std::string, CandidateResult> dropped;
  for (CandidateResult& result : prove::read_dropped(folder)) dropped.emplace(result.candidate, std::move(result));
  std::vector<CandidateResult> results = prove::read_results(folder);
  for (CandidateResult& result : results) {
    if (const auto without_proof = dropped.find(result.candidate); without_proof != dropped.end())
      result = without_proof->second;
  }
  return results;
}

/// Finds the counterexample of a refuted candidate again: outcomes have one line of it. Nullopt if the definitions are
/// not those of the run.
std::optional<prove::Counterexample> counterexample_of(const CandidateResult& result, algebra::Library& library) {
  if (result.status != prove::RuleStatus::Refuted || result.rule.empty()) return std::nullopt;
  try {
    return prove::find_counterexample(result.rule, library, {});
  } catch (const runtime::InputError&) {
    return std::nullopt;
  }
}

runtime::Json to_json(const CandidateResult& result, const std::optional<prove::Counterexample>& counterexample) {
  runtime::Json json = {{"id", result.candidate},
                        {"verdict", prove::name(result.status)},
                        {"reason", counterexample ? prove::to_string(*counterexample) : result.detail},
                        {"text", result.rule}};
  if (counterexample) json["counterexample"] = prove::to_json(*counterexample);
  return json;
}

}  // namespace

void list_candidates(Context& context, const std::vector<std::string>& verdicts) {
  const std::filesystem::path folder = context.options.rules;
  if (!std::filesystem::is_directory(folder))
    throw runtime::UsageError("--candidates",
                              "expected RULES to be the output folder of a run, found '" + folder.string() + "'");
  algebra::Library library = load_library(context.options);
  TextTable table({"id", "verdict", "reason", "rule"});
  context.report["candidates"] = runtime::Json::array();
  std::map<std::string, std::uint64_t> counts;
  std::vector<prove::NamedCounterexample> counterexamples;
  for (const CandidateResult& result : read_candidates(folder)) {
    const std::string verdict = prove::name(result.status);
    if (std::ranges::find(verdicts, verdict) == verdicts.end()) continue;
    ++counts[verdict];
    const auto counterexample = counterexample_of(result, library);
    if (counterexample) counterexamples.push_back({result.candidate, *counterexample});
    context.report["candidates"].push_back(to_json(result, counterexample));
    table.add({result.candidate, verdict, context.report["candidates"].back()["reason"], body_line(result.rule)});
  }
  const auto total = [&](const std::string& verdict) { return fmt::format("{} {}", counts[verdict], verdict); };
  context.print(
      fmt::format("{}{}\n{}\n", table.text(), prove::numpy_text(counterexamples), runtime::join_text(verdicts, total)));
}

bool show_candidate(Context& context, const std::string& id, algebra::Library& library) {
  const std::filesystem::path folder = context.options.rules;
  if (!std::filesystem::exists(folder / prove::outcomes_file)) return false;
  const std::vector<CandidateResult> results = read_candidates(folder);
  const auto found = std::ranges::find(results, id, &CandidateResult::candidate);
  if (found == results.end()) return false;
  const auto counterexample = counterexample_of(*found, library);
  context.report = to_json(*found, counterexample);
  const std::string reason = context.report["reason"];
  context.print(found->rule + "\nverdict      " + prove::name(found->status) + "\n");
  if (!reason.empty()) context.print("reason       " + reason + "\n");
  if (counterexample) context.print("\n" + prove::numpy_text(*counterexample));
  return true;
}

}  // namespace rulemill::cli
