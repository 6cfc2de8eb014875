// Explanations why a rule did not fire at a node of the original model: another operator, an opaque neighbor, a type or
// condition that does not hold, or no gain.
#pragma once

#include <string>
#include <vector>

#include "optimize/cost/cost_model.h"
#include "optimize/onnx/import.h"
#include "optimize/search/match.h"

namespace rulemill::optimize {

struct Explanation {
  std::string rule;   // its id, with ", reversed" for the other direction
  std::string place;  // name of the node in the model; empty: the rule has no instance
  std::string reason;
  std::size_t matched_operators = 0;  // of the rule
  std::size_t times = 1;              // places with the same reason
};

struct ExplainedModel {
  GraphBank& bank;
  const ImportedModel& import;
  algebra::TermBank& terms;
  const std::vector<algebra::RuleRecord>& database;  // the rules before specialization
  const std::vector<algebra::RuleRecord>& rules;
  Matcher& matcher;
  CostModel& cost;
};

/// `target` is a rule's id, or the name of a node of the model. Explanations with the most matched operators come
/// first. A rule that has no instance for the model has one explanation, without a place. Throws UsageError if the
/// target is neither.
std::vector<Explanation> explain(const ExplainedModel& model, const std::string& target);

/// Returns a line for each of the first forty explanations.
std::string to_text(const std::vector<Explanation>& explanations);

}  // namespace rulemill::optimize
