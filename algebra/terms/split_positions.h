// Symbolic positions of splits. A dimension that is a sum a + b has a boundary at a, which every dimension that fills
// the same slot inherits. A split whose concrete position equals that of a boundary on its axis is at that boundary:
// a split after a concat is at the concat's first dimension.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// The terms below a node: types inferred so far, size slots of nodes, and the example's value of a polynomial.
struct PositionContext {
  const TermBank& bank;
  const std::unordered_map<TermId, Shape>& types;
  const std::unordered_map<NodeId, std::vector<Poly>>& slots;
  std::function<std::int64_t(const Poly&)> example;
};

/// Returns the first boundary, arguments left to right, on the axis that size parameter `slot` of `node` cuts and with
/// example value `number`; nullopt if there is none.
std::optional<Poly> trace_split_position(const PositionContext& context, NodeId node, std::uint32_t slot,
                                         std::int64_t number);

/// Returns the nearest boundary below on that axis, independently of the example.
std::optional<Poly> nearest_split_position(const PositionContext& context, NodeId node, std::uint32_t slot);

}  // namespace rulemill::algebra
