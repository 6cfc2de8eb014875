// The tensors of a model that are positive, so that they match variables of positive type: finite constants with
// elements above 0, and results that follow from such constants (algebra/properties/positivity.h).
#pragma once

#include <unordered_map>

#include "algebra/terms/term.h"
#include "optimize/model/graph.h"

namespace rulemill::optimize {

class PositivityAnalysis {
 public:
  explicit PositivityAnalysis(const GraphBank& bank) : bank_(&bank) {}

  /// Returns false if it is unknown.
  bool is_positive(ValueId value) { return lookup(value, 0); }

 private:
  bool lookup(ValueId value, std::uint32_t depth);
  bool compute(ValueId value, std::uint32_t depth);

  const GraphBank* bank_;
  std::unordered_map<ValueId, bool> known_;
};

/// Returns true if the rule applies the positivity operator to variables only. Other rules match no model.
bool restricts_positivity_to_variables(const algebra::Rule& rule, const algebra::TermBank& terms);

/// Returns the variable c of a term positive(c); nullopt for other terms.
std::optional<algebra::TermId> positive_variable(algebra::TermId term, const algebra::TermBank& terms);

}  // namespace rulemill::optimize
