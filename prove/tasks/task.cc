#include "prove/tasks/task.h"

#include <algorithm>

#include "runtime/text/byte_lists.h"

namespace rulemill::prove {

TaskStatistics& TaskStatistics::operator+=(const TaskStatistics& other) {
  seconds += other.seconds;
  processor_seconds += other.processor_seconds;
  longest_seconds = std::max(longest_seconds, other.longest_seconds);
  queries += other.queries;
  derivations += other.derivations;
  derivation_seconds += other.derivation_seconds;
  derivations_found += other.derivations_found;
  derivations_found_seconds += other.derivations_found_seconds;
  proofs += other.proofs;
  proof_seconds += other.proof_seconds;
  return *this;
}

const char* task_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::IsImplied:
    case TaskKind::IsImpliedExtended:
    case TaskKind::Eliminate:
      return "core";
    case TaskKind::Prove:
    case TaskKind::ProveRule:
    case TaskKind::Generalize:
      return "proofs";
    case TaskKind::Certify:
    case TaskKind::CertifyRecord:
      return "certificates";
    case TaskKind::Check:
    case TaskKind::CheckAlone:
      return "checks";
    case TaskKind::Derive:
    case TaskKind::IsRuleImplied:
    case TaskKind::Explain:
    case TaskKind::ExplainExtended:
    case TaskKind::DeriveFromEarlier:
    case TaskKind::DeriveFromEarlierOnce:
    case TaskKind::Compose:
      break;
  }
  return "derivations";
}

bool is_proof(TaskKind kind) {
  return kind == TaskKind::Prove || kind == TaskKind::ProveRule || kind == TaskKind::Generalize;
}

std::string add_rule_update(const std::string& rule) { return "+" + rule; }
std::string remove_rule_update(std::size_t number) { return "-" + std::to_string(number); }

std::string to_text(const KnownRule& rule) {
  return std::to_string(rule.number) + (rule.following == 0 ? "" : " " + std::to_string(rule.following));
}

KnownRule known_rule_from_text(const std::string& item) {
  const std::size_t space = item.find(' ');
  const auto number = [](const std::string& text) { return static_cast<std::uint32_t>(std::stoul(text)); };
  return {number(item), space == std::string::npos ? 0 : number(item.substr(space))};
}

std::string pack(const Task& task) { return runtime::pack_fields(task.kind, task.estimated_cost, task.items); }

Task unpack_task(std::string_view packed) {
  Task task;
  runtime::unpack_fields(packed, task.kind, task.estimated_cost, task.items);
  return task;
}

std::string pack(const Answer& answer) { return runtime::pack_fields(answer.statistics, answer.items, answer.failure); }

Answer unpack_answer(std::string_view packed) {
  Answer answer;
  runtime::unpack_fields(packed, answer.statistics, answer.items, answer.failure);
  return answer;
}

}  // namespace rulemill::prove
