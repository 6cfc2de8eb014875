// A window on two values that may be equal: the terms of both down to values that they have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_set>
#include <vector>

#include "optimize/equal/prover/constant_agreement.h"
#include "optimize/search/region.h"

namespace rulemill::optimize {

struct ValuePair {
  ValueId before{}, after{};
};

struct WindowLimits {
  std::uint32_t levels = 0;  // of common terms below the first common values
  std::size_t nodes = 60;
  bool opens_constants = false;  // constants that the models compute are computed in the window
};

struct EqualityWindow {
  Region region;  // its outputs are the two values
  std::vector<NodeId> nodes;
};

/// Returns the numbers of the values that one of the graph's outputs depends on.
std::set<std::uint32_t> values_below(const RegionGraph& graph, std::uint32_t output);

/// Whether the node's operator applies a function to inputs that is not defined everywhere.
bool is_partial(const GraphBank& bank, const Node& node);
/// Returns a value that some inputs leave undefined, perhaps, among those that the terms of `values` compute: one that
/// `defined` does not have. What opaque nodes compute may be undefined.
std::optional<ValueId> undefined_below(const GraphBank& bank, std::span<const ValueId> values,
                                       const std::unordered_set<ValueId>& defined, ConstantComparison& constants);

/// If the second value is a constant, the window has some levels of the first value's terms. Returns nullopt if the
/// window is too large, has a value of unknown type, or mixes float types. `common` are the
/// nodes of the first model.
std::optional<EqualityWindow> equality_window(const GraphBank& bank, ValuePair pair,
                                              const std::unordered_set<NodeId>& common, const WindowLimits& limits);

}  // namespace rulemill::optimize
