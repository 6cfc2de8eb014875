// Which tensors of a model are known to be positive, so that they may stand for variables of positives: constants all
// of whose elements are above 0 and finite, and what operators make of such (algebra/claims/positives.h).
#pragma once

#include <unordered_map>

#include "algebra/terms/term.h"
#include "optimize/graph.h"

namespace rulemill::optimize {

class Positives {
 public:
  explicit Positives(const GraphBank& bank) : bank_(&bank) {}

  /// False where it is not known.
  bool contains(ValueId value) { return find(value, 0); }

 private:
  bool find(ValueId value, std::uint32_t depth);
  bool look(ValueId value, std::uint32_t depth);

  const GraphBank* bank_;
  std::unordered_map<ValueId, bool> known_;
};

/// Whether the rule speaks of positives by variables alone: others say more of them than that they are positive, and
/// match no model.
bool has_positive_variables_alone(const algebra::Rule& rule, const algebra::TermBank& terms);

/// The variable c if the term is positive(c).
std::optional<algebra::TermId> positive_variable(algebra::TermId term, const algebra::TermBank& terms);

}  // namespace rulemill::optimize
