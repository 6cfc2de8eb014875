#include "prove/farm/outcome.h"

#include "runtime/byte_lists.h"
#include "runtime/error.h"
#include "runtime/json_number.h"

namespace rulemill::prove {

using runtime::Json;

bool stays_apart(const Outcome& outcome) {
  constexpr std::uint64_t most_operators = 4;
  return outcome.operators > most_operators;
}

bool take_derivation(const Outcome& answer, Outcome& rule) {
  if (answer.kind != Outcome::Kind::Derived) return false;
  rule.kind = Outcome::Kind::Derived;
  rule.instances = answer.instances;
  rule.certificate = answer.certificate;
  return true;
}

Json to_json(const Outcome& outcome) {
  return {{"kind", static_cast<int>(outcome.kind)},
          {"candidate", outcome.candidate},
          {"rule", outcome.rule},
          {"detail", outcome.detail},
          {"certificate", outcome.certificate},
          {"queries", outcome.queries},
          {"instances", outcome.instances},
          {"operators", outcome.operators},
          {"apart", outcome.apart},
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
  outcome.operators = runtime::whole<std::uint64_t>(json.at("operators"));
  json.at("apart").get_to(outcome.apart);
  for (const Json& numbers : json.at("example")) outcome.example.push_back(runtime::whole_list<std::int64_t>(numbers));
  return outcome;
}

std::string pack(const Outcome& outcome) {
  runtime::Bytes bytes;
  runtime::append_value(bytes, outcome.kind);
  for (const std::string* text : {&outcome.candidate, &outcome.rule, &outcome.detail, &outcome.certificate})
    runtime::append_text(bytes, *text);
  for (const std::uint64_t count : {outcome.queries, outcome.instances, outcome.operators})
    runtime::append_value(bytes, count);
  for (const double number : {outcome.hardness, outcome.seconds}) runtime::append_value(bytes, number);
  for (const auto& dims : outcome.example) runtime::append_list(bytes, dims);
  return std::string(runtime::text_of(bytes));
}

Outcome unpack_outcome(std::string_view packed) {
  runtime::ByteView rest = runtime::bytes_of(packed);
  Outcome outcome;
  outcome.kind = runtime::take_value<Outcome::Kind>(rest);
  RM_CHECK(outcome.kind <= Outcome::Kind::IllTyped, "an outcome of a known kind");
  for (std::string* text : {&outcome.candidate, &outcome.rule, &outcome.detail, &outcome.certificate})
    *text = runtime::take_text(rest);
  for (std::uint64_t* count : {&outcome.queries, &outcome.instances, &outcome.operators})
    *count = runtime::take_value<std::uint64_t>(rest);
  for (double* number : {&outcome.hardness, &outcome.seconds}) *number = runtime::take_value<double>(rest);
  while (!rest.empty()) outcome.example.push_back(runtime::take_list<std::int64_t>(rest));
  return outcome;
}

std::string to_text(const std::vector<Outcome>& outcomes) {
  Json list = Json::array();
  for (const Outcome& outcome : outcomes) list.push_back(to_json(outcome));
  return list.dump();
}

std::vector<Outcome> outcomes_from_text(std::string_view text) {
  try {
    std::vector<Outcome> outcomes;
    for (const Json& json : runtime::parse_json(std::string(text), "outcome"))
      outcomes.push_back(outcome_from_json(json));
    return outcomes;
  } catch (const Json::exception&) {
    throw runtime::InputError("outcome", "damaged: expected a list of outcomes");
  }
}

}  // namespace rulemill::prove
