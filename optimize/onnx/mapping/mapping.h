// ONNX mappings of operator instances, in both directions: whether a node matches an instance, and the attributes and
// constant inputs that encode an instance. Independent of protobuf.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "algebra/operators/operator_instance.h"
#include "optimize/onnx/format/literal.h"

namespace rulemill::optimize {

/// The parts of an ONNX node that a mapping reads.
struct NodeDescription {
  std::string op_type;
  std::string domain;  // empty: ONNX's own
  std::map<std::string, OnnxLiteral> attributes;
  std::vector<std::optional<OnnxLiteral>> constant_inputs;  // by input: integers or a float scalar
  std::vector<bool> absent_inputs;                          // by input
  int onnx_type = 1;                                        // ONNX's number of the first input's element type
  std::size_t outputs = 1;
};

/// An ONNX node to write: a mapping's values at known sizes.
struct OnnxNodeSpec {
  std::string op_type;
  std::string domain;  // empty: ONNX's own
  std::map<std::string, OnnxLiteral> attributes;
  std::map<std::string, std::uint32_t> attribute_arguments;  // attribute → the instance's argument with its value
  std::set<std::string> tensor_attributes;                   // those of them that are tensors of one element
  std::vector<std::optional<std::uint32_t>> arguments;  // by input: the instance's argument; nullopt for a constant
  std::vector<OnnxLiteral> constants;                   // by input, if not an argument; is_unsupported: absent
  std::optional<std::string> activation;
  bool variadic = false;
};

/// Resolves values that count from the end.
OnnxLiteral normalize(const algebra::OnnxValue& value, OnnxLiteral literal, std::span<const algebra::Poly> sizes,
                      algebra::Symbols& symbols);

/// Returns why the node, but for its arguments, does not match the mapping at these sizes; empty if it does.
std::string find_mismatch(const algebra::OnnxMapping& mapping, const NodeDescription& description,
                          std::span<const algebra::Poly> sizes, algebra::Symbols& symbols);

/// The context in which a node is written.
struct EmitContext {
  int onnx_type = 1;                            // ONNX's number of the first input's element type
  const algebra::Shape* first_shape = nullptr;  // of the first input
  std::function<bool(const algebra::Poly&)>
      is_runtime_size;  // sizes that an input list may compute at run time; empty: none
};

/// Returns the node that encodes the instance, by one mapping or by the first mapping of the opset that can. Its values
/// must be numbers or sizes that can be computed at run time; a mapping with numbers only is preferred.
std::optional<OnnxNodeSpec> emit(const algebra::OnnxMapping& mapping, std::span<const algebra::Poly> sizes,
                                 algebra::Symbols& symbols, const EmitContext& context = {});
std::optional<OnnxNodeSpec> emit(const algebra::OperatorInstance& instance, std::span<const algebra::Poly> sizes,
                                 int opset, algebra::Symbols& symbols, const EmitContext& context = {});

/// Returns the integers in attributes and constant inputs, then 1 and 0, without duplicates.
std::vector<std::int64_t> integer_candidates(const NodeDescription& description);

}  // namespace rulemill::optimize
