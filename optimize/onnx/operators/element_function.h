// The functions that ONNX's elementwise operators compute, on integers, on floating point and on integers that depend
// on sizes. A result is the same in every implementation, or there is none: where an integer overflows, a number
// leaves the range of its type, a NaN occurs, or the sign of a zero is not defined.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "algebra/sizes/poly.h"
#include "optimize/onnx/operators/raw_tensor.h"

namespace rulemill::optimize {

struct ElementFunction {
  std::string_view name;  // of the operator
  std::optional<std::int64_t> (*integers)(std::int64_t a, std::int64_t b) = nullptr;
  /// IEEE 754 rounds a float32 result correctly if it is computed in float64 and rounded once more.
  std::optional<double> (*reals)(double a, double b) = nullptr;
  /// Holds for all sizes.
  std::optional<algebra::Poly> (*sizes)(algebra::Symbols& symbols, const algebra::Poly& a,
                                        const algebra::Poly& b) = nullptr;
  bool returns_bool = false, takes_bools = false;
};

/// Returns nullptr for other operators.
const ElementFunction* element_function(std::string_view op_type);

/// Applies the function to int64, int32, float, double or Boolean tensors of one type and shape: to one operand twice.
std::optional<RawTensor> apply(const ElementFunction& function, const RawTensor& a, const RawTensor& b);

/// Returns an element of floating point.
double real_at(const RawTensor& tensor, std::size_t i);
/// Whether the elements are integers, Booleans, or floating point that is neither infinite nor a NaN.
bool is_finite(const RawTensor& tensor);

/// Converts Booleans, integers and floating point as Cast does; nullopt if a number that is rounded does not fit.
std::optional<RawTensor> convert_elements(const RawTensor& input, int type);

}  // namespace rulemill::optimize
