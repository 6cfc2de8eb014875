// Why a rule did not fire at a node of the model as it was given: another operator, an opaque neighbour, a type or a
// condition that does not hold, or no gain.
#pragma once

#include <string>
#include <vector>

#include "optimize/cost.h"
#include "optimize/match.h"
#include "optimize/onnx/import.h"

namespace rulemill::optimize {

struct Explanation {
  std::string rule;   // its id; "…, from right to left" for the other direction
  std::string place;  // the node's name in the model
  std::string reason;
  std::size_t fits = 0;   // operators of the rule that were found there
  std::size_t times = 1;  // places of the same reason
};

struct ExplainedModel {
  GraphBank& bank;
  const Import& import;
  const algebra::TermBank& terms;
  const std::vector<algebra::RuleRecord>& rules;
  Matcher& matcher;
  CostModel& cost;
};

/// `target`: a rule's id, or the name of a node of the model. What came furthest stands first. Throws UsageError if it
/// is neither.
std::vector<Explanation> explain(const ExplainedModel& model, const std::string& target);

/// A line each, the forty that came furthest.
std::string to_text(const std::vector<Explanation>& explanations);

}  // namespace rulemill::optimize
