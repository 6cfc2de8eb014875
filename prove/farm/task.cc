#include "prove/farm/task.h"

#include "runtime/json_report.h"

namespace rulemill::prove {

using runtime::Json;

Effort& Effort::operator+=(const Effort& other) {
  seconds += other.seconds;
  queries += other.queries;
  derivations += other.derivations;
  derivation_seconds += other.derivation_seconds;
  derived += other.derived;
  derived_seconds += other.derived_seconds;
  proofs += other.proofs;
  proof_seconds += other.proof_seconds;
  return *this;
}

std::string adding(const std::string& rule) { return "+" + rule; }
std::string removing(std::size_t number) { return "-" + std::to_string(number); }

std::string to_text(const KnownRule& rule) {
  return std::to_string(rule.number) + (rule.more == 0 ? "" : " " + std::to_string(rule.more));
}

KnownRule known_rule_from_text(const std::string& item) {
  const std::size_t space = item.find(' ');
  const auto number = [](const std::string& text) { return static_cast<std::uint32_t>(std::stoul(text)); };
  return {number(item), space == std::string::npos ? 0 : number(item.substr(space))};
}

std::string to_text(const Task& task) {
  return Json{{"kind", static_cast<int>(task.kind)}, {"items", task.items}, {"hardness", task.hardness}}.dump();
}

Task task_from_text(std::string_view text) {
  const Json json = Json::parse(text);
  return {static_cast<TaskKind>(json.at("kind").get<int>()), json.at("items").get<std::vector<std::string>>(),
          json.at("hardness").get<double>()};
}

std::string to_text(const Answer& answer) {
  const Effort& e = answer.effort;
  const Json effort = {e.seconds, e.queries,         e.derivations, e.derivation_seconds,
                       e.derived, e.derived_seconds, e.proofs,      e.proof_seconds};
  return Json{{"items", answer.items}, {"effort", effort}, {"failure", answer.failure}}.dump();
}

Answer answer_from_text(std::string_view text) {
  const Json json = Json::parse(text);
  const Json& e = json.at("effort");
  const auto count = [&](std::size_t i) { return e.at(i).get<std::uint64_t>(); };
  const auto time = [&](std::size_t i) { return e.at(i).get<double>(); };
  return {json.at("items").get<std::vector<std::string>>(),
          {time(0), count(1), count(2), time(3), count(4), time(5), count(6), time(7)},
          json.at("failure").get<std::string>()};
}

}  // namespace rulemill::prove
