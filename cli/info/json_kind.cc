#include "cli/info/json_kind.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <sstream>

#include "prove/tasks/candidate_result.h"
#include "runtime/files/json_file.h"
#include "runtime/text/error.h"

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

bool is_list_with(const Json& json, const char* key) {
  return json.is_array() && !json.empty() && json[0].is_object() && json[0].contains(key);
}

}  // namespace

FileDescription describe_json(const std::filesystem::path& path) {
  const Json json = runtime::read_json(path);
  const std::string name = path.filename().string();
  try {
    if (json.is_object() && json.contains("format") && json["format"].get<std::string>().starts_with("rulemill "))
      return describe_format(json);
    if (json.is_object() && json.contains("command") && json.contains("rulemill")) return describe_report(json);
    if (json.is_object() && name == "funnel.json")
      return {"funnel of a run", fmt::format("{} counts", json.at("funnel").size()), {{"counts", json["funnel"]}}};
    if (is_list_with(json, "milliseconds"))
      return describe_results(json, "times of proofs", [](const Json& result) { return result.at("verdict"); });
    if (name == "outcomes.json" || name == "dropped.json")
      return describe_results(json,
                              name == "outcomes.json" ? "results of candidates" : "rules without a checkable proof",
                              [](const Json& result) { return prove::name(prove::result_from_json(result).status); });
  } catch (const Json::exception&) {  // not a file of rulemill
  }
  throw runtime::InputError(path.string(), "is JSON, but not of rulemill; expected a report, or a file of a run");
}

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

}  // namespace rulemill::cli
