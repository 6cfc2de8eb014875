// Where a size parameter that no dimension determines comes from. A dimension that is a sum a + b has a boundary at a;
// the boundary travels with every dimension that is the same slot. A parameter whose number is that of a boundary on
// its own axis means that boundary: a split after a concat is at the concat's first dimension.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// What is known of the terms below a node: types so far, size slots of nodes, and the example's value of a polynomial.
struct PositionContext {
  const TermBank& bank;
  const std::unordered_map<TermId, Shape>& types;
  const std::unordered_map<NodeId, std::vector<Poly>>& slots;
  std::function<std::int64_t(const Poly&)> example;
};

/// The boundary on the axis that size parameter `slot` of `node` cuts, whose example value is `number`; the first one
/// found, arguments left to right. Nothing if there is none.
std::optional<Poly> trace_position(const PositionContext& context, NodeId node, std::uint32_t slot,
                                   std::int64_t number);

/// The boundary that lies nearest below on that axis, whatever its number. The example is not asked.
std::optional<Poly> nearest_position(const PositionContext& context, NodeId node, std::uint32_t slot);

}  // namespace rulemill::algebra
