#include "prove/farm/outcome.h"

#include <array>

namespace rulemill::prove {

using runtime::Json;

const char* name(Outcome::Kind kind) {
  static constexpr std::array<const char*, 5> names = {"proved", "derived", "refuted", "unknown", "ill-typed"};
  return names.at(static_cast<std::size_t>(kind));
}

Json to_json(const Outcome& outcome) {
  return {{"kind", static_cast<int>(outcome.kind)},
          {"candidate", outcome.candidate},
          {"rule", outcome.rule},
          {"detail", outcome.detail},
          {"certificate", outcome.certificate},
          {"queries", outcome.queries},
          {"instances", outcome.instances},
          {"example", outcome.example}};
}

Outcome outcome_from_json(const Json& json) {
  Outcome outcome;
  outcome.kind = static_cast<Outcome::Kind>(json.at("kind").get<int>());
  json.at("candidate").get_to(outcome.candidate);
  json.at("rule").get_to(outcome.rule);
  json.at("detail").get_to(outcome.detail);
  json.at("certificate").get_to(outcome.certificate);
  json.at("queries").get_to(outcome.queries);
  json.at("instances").get_to(outcome.instances);
  json.at("example").get_to(outcome.example);
  return outcome;
}

std::string to_text(const Outcome& outcome) {
  Json json = to_json(outcome);
  json["hardness"] = outcome.hardness;
  json["seconds"] = outcome.seconds;
  return json.dump();
}

Outcome outcome_from_text(std::string_view text) {
  const Json json = Json::parse(text);
  Outcome outcome = outcome_from_json(json);
  json.at("hardness").get_to(outcome.hardness);
  json.at("seconds").get_to(outcome.seconds);
  return outcome;
}

std::string to_text(const std::vector<Outcome>& outcomes) {
  Json list = Json::array();
  for (const Outcome& outcome : outcomes) list.push_back(to_json(outcome));
  return list.dump();
}

std::vector<Outcome> outcomes_from_text(std::string_view text) {
  std::vector<Outcome> outcomes;
  for (const Json& json : Json::parse(text)) outcomes.push_back(outcome_from_json(json));
  return outcomes;
}

}  // namespace rulemill::prove
