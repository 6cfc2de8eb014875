// Reference execution of an instance over the reals, for folding constants and checking optimized models: the
// definition itself, run as loops. Right first; fast enough for a model's layers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algebra/language/function.h"
#include "algebra/language/instance.h"

namespace rulemill::algebra {

/// Row-major values; one element for a scalar (shape empty).
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// What every product, sum and value of a function is rounded to.
enum class Arithmetic : std::uint8_t { Float64, Float32 };

/// All outputs; `functions` are the library's. Nothing if the shapes do not type.
std::optional<std::vector<Tensor>> run(std::span<const Function> functions, const Instance& instance,
                                       std::span<const Tensor* const> inputs,
                                       std::span<const std::int64_t> size_parameters,
                                       Arithmetic arithmetic = Arithmetic::Float64);

}  // namespace rulemill::algebra
