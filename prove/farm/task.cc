#include "prove/farm/task.h"

#include "runtime/byte_lists.h"

namespace rulemill::prove {

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

const char* asked_for(TaskKind kind) {
  switch (kind) {
    case TaskKind::Redundant:
    case TaskKind::Superfluous:
    case TaskKind::Eliminate:
      return "core";
    case TaskKind::Prove:
    case TaskKind::ProveRule:
    case TaskKind::Generalize:
      return "proofs";
    case TaskKind::Certify:
      return "certificates";
    case TaskKind::Derive:
    case TaskKind::Implied:
    case TaskKind::Explain:
    case TaskKind::ExplainHarder:
    case TaskKind::Admit:
    case TaskKind::AdmitLarge:
      break;
  }
  return "derivations";
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

std::string pack(const Task& task) {
  runtime::Bytes bytes;
  runtime::append_value(bytes, task.kind);
  runtime::append_value(bytes, task.hardness);
  runtime::append_texts(bytes, task.items);
  return std::string(runtime::text_of(bytes));
}

Task unpack_task(std::string_view packed) {
  runtime::ByteView rest = runtime::bytes_of(packed);
  Task task;
  task.kind = runtime::take_value<TaskKind>(rest);
  task.hardness = runtime::take_value<double>(rest);
  task.items = runtime::take_texts(rest);
  return task;
}

std::string pack(const Answer& answer) {
  static_assert(std::is_trivially_copyable_v<Effort>);
  runtime::Bytes bytes;
  runtime::append_value(bytes, answer.effort);
  runtime::append_texts(bytes, answer.items);
  runtime::append_text(bytes, answer.failure);
  return std::string(runtime::text_of(bytes));
}

Answer unpack_answer(std::string_view packed) {
  runtime::ByteView rest = runtime::bytes_of(packed);
  Answer answer;
  answer.effort = runtime::take_value<Effort>(rest);
  answer.items = runtime::take_texts(rest);
  answer.failure = runtime::take_text(rest);
  return answer;
}

}  // namespace rulemill::prove
