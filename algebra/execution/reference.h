// Reference execution of an operator instance over the reals, for constant folding and for checking optimized models.
// It runs the definition itself as loops: correct first, and fast enough for the layers of a model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algebra/operators/function.h"
#include "algebra/operators/operator_instance.h"

namespace rulemill::algebra {

/// Row-major values; one element for a scalar (shape empty).
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  std::vector<double> errors{};  // of Tracked arithmetic, in unit roundoffs; empty: the values are exact
};

/// The precision to which every product, sum and function value is rounded. Tracked: float64, and bounds of the errors
/// of any arithmetic (tracked.h).
enum class Arithmetic : std::uint8_t { Float64, Float32, Tracked };

/// Returns all outputs, or nullopt if the shapes are ill-typed. `functions` are the library's.
std::optional<std::vector<Tensor>> run_reference(std::span<const Function> functions, const OperatorInstance& instance,
                                                 std::span<const Tensor* const> inputs,
                                                 std::span<const std::int64_t> size_parameters,
                                                 Arithmetic arithmetic = Arithmetic::Float64);

}  // namespace rulemill::algebra
