// Values of two models that have equal elements at random inputs: pairs that are worth a proof, whatever their names.
// Results of opaque nodes are random, too: equal for equal nodes with equal arguments.
#pragma once

#include <unordered_map>
#include <vector>

#include "optimize/onnx/identity/model_identity.h"
#include "optimize/onnx/import.h"

namespace rulemill::optimize {

/// By value of the second model: values of the first one with equal elements, in the order of their terms. Those of its
/// type come first, others are transposed.
using MatchingValues = std::unordered_map<ValueId, std::vector<ValueId>>;

struct IdentifiedModel {
  const ImportedModel& import;
  const ModelIdentity& identity;
};

/// Returns an entry for every value of the second model that was compared. Values that cannot be evaluated, and those
/// that are computed from constants only, have none. Evaluates at two choices of open dimensions.
MatchingValues matching_values(const GraphBank& bank, const IdentifiedModel& before, const IdentifiedModel& after);

}  // namespace rulemill::optimize
