#include "optimize/equal/proof/proof_recorder.h"

#include <algorithm>

namespace rulemill::optimize {

void ProofRecorder::add(ValueId original, ValueId partner, const ProvedStatement* statement, bool output) {
  proto::ModelStep step;
  const auto value = terms_.own(original), other = terms_.canonical(partner);
  bool has_names = value && other;
  if (has_names) {
    *step.mutable_value() = *value;
    *step.mutable_partner() = *other;
    step.set_output(output);
    if (statement != nullptr) {
      const auto [rule, is_new] = rules_.try_emplace(statement->text);
      if (is_new) rule->second = {"s" + std::to_string(rules_.size()), statement->certificate};
      step.set_rule(rule->second.first);
      has_names = write(statement->instance, step);
    }
  }
  if (!has_names) return fail("a step is about a value of an unnamed node");
  steps_.push_back(std::move(step));
}

bool ProofRecorder::write(const StatementInstance& instance, proto::ModelStep& step) {
  for (const auto& [name, value] : instance.variables) {
    const auto term = terms_.canonical(value);
    if (!term) return false;
    add_variable(step, name, *term);
  }
  terms_.add_sizes(step, instance.sizes);
  return std::ranges::all_of(instance.constants, [&](ValueId constant) {
    const auto term = terms_.canonical(constant);
    if (term) *step.add_constants() = *term;
    return term.has_value();
  });
}

proto::ModelProof ProofRecorder::proof() const {
  proto::ModelProof proof;
  for (const std::string& name : terms_.dimensions()) proof.add_dimensions(name);
  for (const proto::ModelStep& step : steps_) *proof.add_steps() = step;
  proof.set_rules(serialize(rules_, bank_.library()));
  return proof;
}

}  // namespace rulemill::optimize
