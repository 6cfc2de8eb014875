#include "prove/farm/outcome.h"

#include "runtime/error.h"
#include "runtime/json_number.h"

namespace rulemill::prove {

using runtime::Json;

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
  const int kind = runtime::whole<int>(json.at("kind"));
  if (kind < 0 || kind > static_cast<int>(Outcome::Kind::IllTyped))
    throw runtime::InputError("outcome", "of no known kind");
  outcome.kind = static_cast<Outcome::Kind>(kind);
  json.at("candidate").get_to(outcome.candidate);
  json.at("rule").get_to(outcome.rule);
  json.at("detail").get_to(outcome.detail);
  json.at("certificate").get_to(outcome.certificate);
  outcome.queries = runtime::whole<std::uint64_t>(json.at("queries"));
  outcome.instances = runtime::whole<std::uint64_t>(json.at("instances"));
  for (const Json& numbers : json.at("example")) outcome.example.push_back(runtime::whole_list<std::int64_t>(numbers));
  return outcome;
}

std::string to_text(const Outcome& outcome) {
  Json json = to_json(outcome);
  json["hardness"] = outcome.hardness;
  json["seconds"] = outcome.seconds;
  return json.dump();
}

namespace {

/// What `read` makes of the text as JSON. Throws InputError if it cannot.
template <class Read>
auto from_json_text(std::string_view text, const char* expected, const Read& read) {
  try {
    return read(runtime::parse_json(std::string(text), "outcome"));
  } catch (const Json::exception&) {
    throw runtime::InputError("outcome", std::string("damaged: expected ") + expected);
  }
}

}  // namespace

Outcome outcome_from_text(std::string_view text) {
  return from_json_text(text, "one outcome", [](const Json& json) {
    Outcome outcome = outcome_from_json(json);
    json.at("hardness").get_to(outcome.hardness);
    json.at("seconds").get_to(outcome.seconds);
    return outcome;
  });
}

std::string to_text(const std::vector<Outcome>& outcomes) {
  Json list = Json::array();
  for (const Outcome& outcome : outcomes) list.push_back(to_json(outcome));
  return list.dump();
}

std::vector<Outcome> outcomes_from_text(std::string_view text) {
  return from_json_text(text, "a list of outcomes", [](const Json& list) {
    std::vector<Outcome> outcomes;
    for (const Json& json : list) outcomes.push_back(outcome_from_json(json));
    return outcomes;
  });
}

}  // namespace rulemill::prove
