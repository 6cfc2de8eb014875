// An Einsum as the nodes Transpose and MatMul that compute the same, each resolved by the operators' mappings.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "optimize/onnx/mapping/resolve_node.h"

namespace rulemill::optimize {

// Equations of an Einsum that are products of matrices: a MatMul, with operands and result transposed.

/// A product of matrices. Each order is a permutation of axes, empty if the axes stay as they are.
struct ProductEquation {
  bool exchanged = false;                     // the second operand is the left one
  std::vector<std::int64_t> left, right;      // orders of the operands' axes: shared ones, then rows and columns
  std::vector<std::int64_t> result;           // order of the product's axes
  std::size_t left_axes = 0, right_axes = 0;  // numbers of axes of the left and the right operand
};

/// Returns the product that the equation of two operands states, with as few transpositions as possible, or why it is
/// none. `fixed` tells which operands are constant: transposing these is free. The only index that both operands have
/// and the result does not is the sum. One operand has one index of its own, the other at least one.
std::variant<ProductEquation, std::string> read_product_equation(const std::string& equation,
                                                                 const std::vector<bool>& fixed);

/// Returns the steps of an Einsum, or the reason why there are none.
std::variant<LoweredNode, std::string> resolve_einsum(const NodeQuery& query, GraphBank& bank);

/// Returns the products of the elements of any number of operands, and their sums, for comparisons: they may be large.
std::variant<LoweredNode, std::string> resolve_sum_of_products(const NodeQuery& query, GraphBank& bank);

}  // namespace rulemill::optimize
