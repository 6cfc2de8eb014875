// Tensor expressions: the definition of one element of a tensor at numeric sizes, with indices as polynomials, without
// the checks, cases and loops that the sizes decide. Kernels are generated from them, and library operations are
// recognized in them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "algebra/operators/operator_instance.h"
#include "optimize/gpu/lowering/index_range.h"
#include "optimize/gpu/lowering/layout.h"

namespace rulemill::optimize::gpu {

/// The condition `value relation 0`.
struct Guard {
  algebra::Relation relation = algebra::Relation::Eq;
  algebra::Poly value;
};

struct ElementExpr;
using ElementExprPtr = std::shared_ptr<const ElementExpr>;

/// A scalar expression, as algebra::ScalarExpr, over the indices of a TensorExpr.
struct ElementExpr {
  using Kind = algebra::ScalarExpr::Kind;
  Kind kind = Kind::Constant;
  double value = 0;                    // Constant
  std::uint32_t tensor = 0;            // Read: the instance's inputs, then its intermediates
  std::uint32_t function = 0;          // Apply
  std::vector<algebra::Poly> indices;  // Read; InverseSize has one
  std::vector<algebra::Atom> bound;    // Sum, Max
  std::vector<Guard> guard;            // Max, Case: conditions that are not always true
  std::vector<ElementExprPtr> operands;
};

/// A tensor by its element expression: element(indices) for 0 ≤ indices[d] < dims[d], row-major.
struct TensorExpr {
  std::vector<std::int64_t> dims;
  std::vector<algebra::Atom> indices;
  Extents extents;  // of the indices and the bound indices
  ElementExprPtr element;

  std::int64_t elements() const;
};

/// An operator instance at numeric sizes: the expressions of its intermediates and outputs. Each may read those before
/// it.
struct TensorExprs {
  std::vector<std::vector<std::int64_t>> dims;  // by tensor number of Read: inputs, intermediates, outputs
  std::size_t inputs = 0, intermediates = 0;
  std::vector<TensorExpr> computed;  // intermediates, then outputs
};

/// Lowers an operator instance. `numbers`: values of scalar inputs, where known. Returns nullopt if the shapes do not
/// type.
std::optional<TensorExprs> lower_instance(const algebra::OperatorInstance& instance,
                                          std::span<const std::vector<std::int64_t>> inputs,
                                          std::span<const std::int64_t> size_parameters, algebra::Symbols& symbols,
                                          std::span<const std::optional<double>> numbers = {});

/// Substitutes indices, and renumbers tensors if `tensors` is not empty.
ElementExprPtr substitute(const ElementExprPtr& element, const algebra::Substitution& indices,
                          std::span<const std::uint32_t> tensors, algebra::Symbols& symbols);
ElementExprPtr simplify(const ElementExprPtr& element, const Extents& extents, algebra::Symbols& symbols);
/// Calls `visit` for the expression and all its subexpressions.
void for_each_subexpr(const ElementExpr& element, const std::function<void(const ElementExpr&)>& visit);
/// Returns the index of a dimension; 0 if its extent is 1.
algebra::Poly index_of(const TensorExpr& expr, std::size_t dimension);

/// Returns the offset of an element in memory.
algebra::Poly linear_offset(std::span<const algebra::Poly> indices, std::span<const std::int64_t> dims,
                            Layout layout = Layout::RowMajor);
/// Returns the offset of the element that the expression computes.
algebra::Poly own_offset(const TensorExpr& expr, Layout layout = Layout::RowMajor);
/// Whether the index is within the dimension for all values of its indices.
bool is_in_range(const algebra::Poly& index, std::int64_t dim, const Extents& extents, const algebra::Symbols& symbols);

}  // namespace rulemill::optimize::gpu
