#include "cli/info/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <vector>

#include "algebra/language/syntax.h"
#include "algebra/rules/rule_set_format.h"
#include "cli/rules/rule_database.h"
#include "optimize/equal/proof/proof_follower.h"
#include "prove/tasks/candidate_result.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/json_file.h"
#include "runtime/files/manifest.h"
#include "runtime/text/error.h"
#include "runtime/text/join_text.h"
#include "runtime/text/quantity.h"

namespace rulemill::cli {
namespace {

using runtime::Json;

/// "manifest of a run": by the word after "rulemill" in the member `format`.
FileDescription describe_format(const Json& json) {
  const std::string format = json.at("format").get<std::string>();
  const Json version = json.value("version", Json());
  return {
      format.substr(std::string("rulemill ").size()), "version " + runtime::to_text(version), {{"version", version}}};
}

FileDescription describe_report(const Json& json) {
  const std::string command = json.at("command").get<std::string>(), version = json.at("rulemill").get<std::string>();
  const bool failed = json.contains("error");
  return {"report",
          fmt::format("written by `rulemill {} --json`, version {}{}", command, version,
                      failed ? "; the command failed: " + json["error"].get<std::string>() : ""),
          {{"command", command}, {"version", version}, {"failed", failed}}};
}

/// A list of results, with the number of each verdict.
FileDescription describe_results(const Json& json, const char* kind,
                                 const std::function<std::string(const Json&)>& verdict_of) {
  std::map<std::string, std::uint64_t> counts;
  for (const Json& result : json) ++counts[verdict_of(result)];
  std::string text = fmt::format("{} candidates", json.size());
  for (const auto& [verdict, count] : counts) text += fmt::format(", {} {}", count, verdict);
  return {kind, text, {{"candidates", json.size()}, {"counts", counts}}};
}

/// Describes a JSON file that a run or `--json` wrote. Throws InputError for others.
FileDescription describe_json(const std::filesystem::path& path) {
  const Json json = runtime::read_json(path);
  const std::string name = path.filename().string();
  try {
    if (json.is_object() && json.contains("format") && json["format"].get<std::string>().starts_with("rulemill "))
      return describe_format(json);
    if (json.is_object() && json.contains("command") && json.contains("rulemill")) return describe_report(json);
    if (json.is_object() && name == "funnel.json")
      return {"funnel of a run", fmt::format("{} counts", json.at("funnel").size()), {{"counts", json["funnel"]}}};
    if (json.is_array() && !json.empty() && json[0].is_object() && json[0].contains("milliseconds"))
      return describe_results(json, "times of proofs", [](const Json& result) { return result.at("verdict"); });
    if (name == "outcomes.json" || name == "dropped.json")
      return describe_results(json,
                              name == "outcomes.json" ? "results of candidates" : "rules without a checkable proof",
                              [](const Json& result) { return prove::name(prove::result_from_json(result).status); });
  } catch (const Json::exception&) {  // not a file of rulemill
  }
  throw runtime::InputError(path.string(), "is JSON, but not of rulemill; expected a report, or a file of a run");
}

/// Describes the log of a rank's events (JSON lines).
FileDescription describe_events(const std::filesystem::path& path, const std::string& bytes) {
  std::istringstream lines(bytes);
  std::size_t events = 0, unreadable = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json event = runtime::parse_json_or_discard(line);
    ++(event.is_object() && event.contains("event") ? events : unreadable);
  }
  if (events == 0)
    throw runtime::InputError(path.string(), "is no log of rulemill: expected JSON lines with an 'event'");
  return {"log of a rank",
          fmt::format("{} events, {} incomplete lines", events, unreadable),
          {{"events", events}, {"incomplete_lines", unreadable}}};
}

namespace fs = std::filesystem;
using runtime::Json;

std::size_t count_occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

FileDescription describe_database(const Options& options, const fs::path& path) {
  Options reading = options;
  reading.rules = path.string();
  const Database database(reading);
  std::size_t core = 0, derived = 0;
  for (const algebra::RuleRecord& record : database.rules.rules) {
    core += record.rule.tier == algebra::Tier::Core ? 1 : 0;
    derived += record.rule.tier == algebra::Tier::Derived ? 1 : 0;
  }
  const algebra::Provenance& from = database.rules.provenance;
  return {"rule database",
          fmt::format("{} core rules, {} derived; profile {}, made by rulemill {} with {}", core, derived,
                      from.profile_name, from.build, from.solver),
          {{"rules", database.rules.rules.size()},
           {"core", core},
           {"derived", derived},
           {"profile", from.profile_name},
           {"build", from.build},
           {"solver", from.solver}}};
}

FileDescription describe_rules(const Options& options, const fs::path& path) {
  Terms terms(options);
  const auto rules = read_rule_file(path, "", terms);
  const auto unreadable = std::ranges::count_if(rules, [](const auto& rule) { return !rule.rule; });
  const bool is_text = path.extension() == ".rules";
  return {is_text ? "rules as text" : "rules as TASO's protobuf",
          fmt::format("{} rules, of which {} are unreadable", rules.size(), unreadable),
          {{"rules", rules.size()}, {"unreadable", unreadable}}};
}

FileDescription describe_definitions(const fs::path& path, const std::string& bytes) {
  const algebra::syntax::Definitions definitions = algebra::syntax::parse(bytes, path.string());
  return {"operator definitions",
          fmt::format("{} operators, {} functions", definitions.operators.size(), definitions.functions.size()),
          {{"operators", definitions.operators.size()}, {"functions", definitions.functions.size()}}};
}

/// A certificate's first line names its version and its kind: "; rulemill certificate 6, by definitions".
FileDescription describe_certificate(const std::string& bytes) {
  const std::string title = first_line(bytes).substr(2);
  const auto lines = std::ranges::count(bytes, '\n');
  return {"certificate", fmt::format("{}, {} lines", title, lines), {{"title", title}, {"lines", lines}}};
}

/// "rulemill journal 1 OWNER".
FileDescription describe_journal(const std::string& bytes) {
  const std::string title = first_line(bytes);
  return {"journal of an unfinished stage",
          fmt::format("{}, {}", title, runtime::format_bytes(bytes.size())),
          {{"title", title}, {"bytes", bytes.size()}}};
}

FileDescription describe_cache(const std::string& bytes) {
  return {"cache of a run",
          runtime::format_bytes(bytes.size()) + "; reused by the next run in the folder",
          {{"bytes", bytes.size()}}};
}

FileDescription describe_proof(const fs::path& path) {
  const proto::ModelProof proof = optimize::read_model_proof(path);
  return {"proof that two models are equal",
          fmt::format("{} steps, {} of rules with certificates; see `rulemill check BEFORE AFTER --proof`",
                      proof.steps_size(), runtime::format_bytes(proof.rules().size())),
          {{"steps", proof.steps_size()},
           {"bytes", proof.rules().size()},
           {"before", proof.before()},
           {"after", proof.after()}}};
}

FileDescription describe_profile(const std::string& bytes) {
  const std::size_t variables = count_occurrences(bytes, "\n[[variables]]");
  const std::size_t operators = count_occurrences(bytes, "\n[[operators]]");
  return {"profile",
          fmt::format("{} groups of variables, {} of operators", variables, operators),
          {{"variable_groups", variables}, {"operator_groups", operators}}};
}

FileDescription describe_folder(const fs::path& path, const Options& options) {
  if (fs::exists(path / "manifest.json")) {
    const runtime::Manifest manifest(path);
    std::vector<std::string> finished;
    for (const char* stage : {"fingerprint", "join", "merge", "prove", "prune", "generalize"}) {
      if (!manifest.statistics(stage).empty()) finished.emplace_back(stage);
    }
    const std::string stages = finished.empty() ? "none" : runtime::join_text(finished);
    return {"run", "finished stages: " + stages + "; see `rulemill status`", {{"finished_stages", finished}}};
  }
  if (fs::exists(path / "models.txt")) {
    const auto models = std::ranges::count(runtime::read_file(path / "models.txt"), '\n');
    return {"array of optimizations", fmt::format("{} models; see `rulemill status`", models), {{"models", models}}};
  }
  if (fs::exists(path / "rules.rmdb")) return describe_database(options, path);
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (entry.path().extension() != ".op") continue;
    Options reading = options;
    reading.definitions = path.string();
    const algebra::Library library = load_library(reading);
    return {"operator definitions",
            fmt::format("{} operators, {} functions", library.operator_names().size(), library.functions().size()),
            {{"operators", library.operator_names().size()}, {"functions", library.functions().size()}}};
  }
  throw runtime::InputError(path.string(), "is a folder without files of rulemill");
}

}  // namespace

FileDescription describe_file(const fs::path& path, const Options& options) {
  if (fs::is_directory(path)) return describe_folder(path, options);
  const std::string extension = path.extension().string();
  if (extension == ".rmdb") return describe_database(options, path);
  const std::string bytes = runtime::read_file(path);
  if (bytes.starts_with("; rulemill certificate ")) return describe_certificate(bytes);
  if (bytes.starts_with("rulemill journal ")) return describe_journal(bytes);
  if (extension == ".rules" || extension == ".pb") return describe_rules(options, path);
  if (extension == ".op") return describe_definitions(path, bytes);
  if (extension == ".properties") {
    const std::size_t count = count_occurrences("\n" + bytes, "\nrule ");
    return {"properties", fmt::format("{} statements", count), {{"statements", count}}};
  }
  if (extension == ".toml") return describe_profile("\n" + bytes);
  if (extension == ".html" && bytes.find("<title>rulemill") != std::string::npos)
    return {"HTML page", runtime::format_bytes(bytes.size()), {{"bytes", bytes.size()}}};
  if (extension == ".cache") return describe_cache(bytes);
  if (extension == ".jsonl") return describe_events(path, bytes);
  if (extension == ".proof" || algebra::has_valid_checksum(bytes)) return describe_proof(path);
  if (bytes.starts_with("{") || bytes.starts_with("[")) return describe_json(path);
  throw runtime::InputError(path.string(),
                            "is no file of rulemill: expected a model (*.onnx), a rule database (*.rmdb), "
                            "rules (*.rules), definitions (*.op), a table, or JSON that rulemill wrote");
}

}  // namespace rulemill::cli
