// Explanations why a rule did not fire at a node of the original model: another operator, an opaque neighbor, a type or
// condition that does not hold, or no gain.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "optimize/cost/cost_model.h"
#include "optimize/onnx/import.h"
#include "optimize/search/match.h"
#include "runtime/text/json.h"

namespace rulemill::optimize {

struct Explanation {
  std::string rule;         // its id, with ", reversed" for the other direction; empty: no rule has such an operator
  std::string place;        // name of the node in the model; empty: the rule has no instance
  std::string stands;       // what is at the place: "Gemm, read as gemm"
  std::string reason;       // what differs
  std::string requirement;  // what would have to be true, after "if"
  std::size_t matched_operators = 0, missing_operators = 0;  // of the rule
  double seconds_after = 0;                                  // of the graph, by the cost model, if the rule applies
  std::size_t times = 1;                                     // places with the same reason

  /// Orders explanations: rules that apply come first, then those of which most matches.
  auto distance() const { return std::tuple(seconds_after == 0, missing_operators, seconds_after, ~matched_operators); }
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

/// `target` is a rule's id, or the name of a node of the model. The nearest explanations come first. A rule that has no
/// instance for the model has one explanation, without a place. Throws UsageError if the target is neither.
std::vector<Explanation> explain(const ExplainedModel& model, const std::string& target);

/// Returns three sentences on the first explanation: what stands there, what differs, and what would have to be true.
std::string to_text(const std::vector<Explanation>& explanations);
/// Returns all explanations, as docs/json.md describes them.
runtime::Json to_json(const std::vector<Explanation>& explanations);

}  // namespace rulemill::optimize
