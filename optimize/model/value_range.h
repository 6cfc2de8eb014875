// The range of the values of a graph, above all in float16 and bfloat16. A rule that moves a scaling can make
// intermediate values overflow that were finite before: matmul(scale(q, s), k) becomes scale(matmul(q, k), s).
#pragma once

#include "optimize/model/evaluate.h"
#include "optimize/model/given_inputs.h"

namespace rulemill::optimize {

bool is_short_float(DataType type);

/// Returns true if any of the values or what they are computed from has a 16-bit float type.
bool has_short_floats(const GraphBank& bank, std::span<const ValueId> roots);

/// Returns the value of `after` that overflows its 16-bit type on inputs on which all values of `before` are finite;
/// nullopt if none was found. Both graphs are evaluated in float64 on `draws` random inputs and on those that the user
/// gives, scaled until the largest value of `before` nearly overflows. Dimensions that `sizes` lacks are small.
struct RangeQuery {
  const GraphBank& bank;
  std::span<const ValueId> before, after;
  GraphEvaluator::Sizes sizes;
  std::uint32_t draws = 3;
  std::span<const GivenInputs> given = {};
};
std::optional<ValueId> find_overflow(const RangeQuery& query);

/// Returns the largest value of type float32 or float64 that `after` computes, divided by the largest that `before`
/// computes: the largest ratio over `draws` random inputs of ordinary size; 0 if there is none. Their range is so large
/// that growth is reported and not rejected.
double range_growth(const RangeQuery& query);

}  // namespace rulemill::optimize
