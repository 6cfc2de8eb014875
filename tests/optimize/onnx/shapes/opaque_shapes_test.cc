#include "optimize/onnx/shapes/opaque_shapes.h"

#include <catch2/catch.hpp>

#include "optimize/onnx/format/model_proto.h"

namespace rulemill::optimize {

namespace {

/// Returns the dimensions of an Einsum of tensors of the given dimensions; empty if they do not follow.
std::vector<std::int64_t> einsum_dims(const std::string& equation, const std::vector<algebra::Shape>& shapes) {
  onnx::NodeProto node;
  node.set_op_type("Einsum");
  node.add_output("y");
  OnnxLiteral literal;
  literal.string_value = equation;
  *node.add_attribute() = make_attribute_proto("equation", literal);
  std::vector<ShapeOperand> operands;
  for (const algebra::Shape& shape : shapes) operands.push_back({nullptr, &shape});
  algebra::Symbols symbols;
  const auto inferred = infer_opaque_shape(node, operands, {}, symbols);
  std::vector<std::int64_t> dims;
  if (inferred) {
    for (const algebra::Poly& dim : inferred->dims) dims.push_back(dim.constant().value());
  }
  return dims;
}

}  // namespace

TEST_CASE("the dimensions of an Einsum are those of its letters", "[shapes]") {
  using Dims = std::vector<std::int64_t>;
  CHECK(einsum_dims("byhwc,hkc->byhwk", {{1, 2, 5, 7, 96}, {5, 3, 96}}) == Dims{1, 2, 5, 7, 3});
  CHECK(einsum_dims("ij, jk -> ki", {{2, 3}, {3, 4}}) == Dims{4, 2});
  CHECK(einsum_dims("ij,ij->ij", {{1, 3}, {2, 1}}) == Dims{2, 3});
  CHECK(einsum_dims("ij,jk->kl", {{2, 3}, {3, 4}}).empty());
  CHECK(einsum_dims("...j,jk->...k", {{2, 3}, {3, 4}}).empty());
  CHECK(einsum_dims("ij,jk", {{2, 3}, {3, 4}}).empty());
  CHECK(einsum_dims("ijk,jk->i", {{2, 3}, {3, 4}}).empty());
}

}  // namespace rulemill::optimize
