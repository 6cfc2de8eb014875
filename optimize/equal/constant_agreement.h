// Whether two constants agree: a folded constant was computed in floats, by a program that rounds in its own way.
#pragma once

#include <optional>

#include "optimize/model/graph.h"

namespace rulemill::optimize {

/// Elements may differ by this many unit roundoffs of the type, relative to the largest element.
inline constexpr double max_constant_roundoffs = 16;

/// Returns the largest difference of elements, relative to the largest element; nullopt if the constants do not agree.
std::optional<double> constant_difference(const algebra::Tensor& a, const algebra::Tensor& b, DataType type);

/// Returns the elements of a value that depends on constants only, computed in float64; nullptr if they are too many.
std::shared_ptr<const algebra::Tensor> constant_elements(const GraphBank& bank, ValueId value);

}  // namespace rulemill::optimize
