// A tensor as far as it is known before its model runs, for all inputs: the element type, the dimensions, and the
// elements, which are numbers or integers that depend on sizes.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "algebra/sizes/poly.h"
#include "optimize/onnx/operators/raw_tensor.h"

namespace rulemill::optimize {

/// A dimension; nullopt: unknown.
using Dimension = std::optional<algebra::Poly>;
using Dimensions = std::vector<Dimension>;

struct KnownTensor {
  int type = 0;                                          // ONNX element type; 0: unknown
  std::optional<Dimensions> dims = {};                   // nullopt: of unknown rank
  std::optional<RawTensor> numbers = {};                 // all elements; their dimensions are `dims`
  std::optional<std::vector<algebra::Poly>> sizes = {};  // all elements, int64 or int32, of which some are not numbers

  bool has_elements() const { return numbers || sizes; }
};

/// No tensor that a model computes has a larger dimension.
inline constexpr std::int64_t max_dimension = 1'000'000'000;
/// Tensors of more elements have none that depend on sizes.
inline constexpr std::size_t max_size_elements = 64;

/// What holds wherever a node is evaluated.
struct EvaluationContext {
  algebra::Symbols& symbols;
  std::size_t max_bytes = 0;                                              // of elements that are computed
  std::int64_t smallest_size = 1;                                         // of a dimension
  std::vector<std::pair<algebra::Poly, std::int64_t>> upper_bounds = {};  // of dimensions
  const std::set<algebra::Poly>* dimensions = nullptr;                    // of tensors that the model has
  /// Set: a size and its upper bound. Two inputs have min(size, bound) and size at one position, so that they are
  /// compatible only if the size is at most the bound.
  std::optional<std::pair<algebra::Poly, std::int64_t>> required_bound = {};
};

KnownTensor make_known(RawTensor numbers);
/// Makes a tensor of int64, int32 or Boolean elements, which are unknown if one may not fit the type. An int32 that
/// depends on sizes fits if it does for all dimensions; int64 holds all sizes and what is computed from them.
KnownTensor make_known(int type, const Dims& dims, const std::vector<algebra::Poly>& elements,
                       const EvaluationContext& context);

/// Returns int64, int32 or Boolean elements; nullopt if they are unknown, too many, or one has no negation.
std::optional<std::vector<algebra::Poly>> to_sizes(const KnownTensor& tensor);
/// Returns the dimensions if all are known.
std::optional<algebra::Shape> to_shape(const std::optional<Dimensions>& dims);
/// Returns the dimensions if all are numbers.
std::optional<Dims> to_numbers(const std::optional<Dimensions>& dims);
/// Returns the product; nullopt if a dimension is unknown.
Dimension product(std::span<const Dimension> dims);

}  // namespace rulemill::optimize
