// One ONNX node as plain data, and an instance's ONNX mapping read in both directions: does a node say this instance,
// and which attributes and constant inputs say it. No protobuf here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "algebra/language/instance.h"

namespace rulemill::optimize {

/// An attribute's value, or the value of an input that is a constant or is computed from the shapes of tensors.
struct OnnxLiteral {
  bool is_list = false;
  std::vector<algebra::Poly> integers;
  std::optional<std::string> word;
  std::optional<double> number;
  bool reals = false;  // a list of whole numbers as float32; of an attribute, a tensor of one float32
  bool other = false;  // a tensor, a graph, floats: nothing that a mapping can say
};

/// What a mapping looks at in an ONNX node.
struct OnnxNodeFacts {
  std::string op_type;
  std::map<std::string, OnnxLiteral> attributes;
  std::vector<std::optional<OnnxLiteral>> constant_inputs;  // by input; integers and single floats
  std::vector<bool> absent_inputs;                          // by input
  std::optional<algebra::Shape> first_shape;                // of the first input
  int kind = 1;                                             // ONNX's number of the first input's element type
  std::size_t outputs = 1;
};

/// The values of a mapping at known sizes.
struct OnnxNodeText {
  std::string op_type;
  std::map<std::string, OnnxLiteral> attributes;
  std::map<std::string, std::uint32_t> attribute_arguments;  // the instance's argument that an attribute's value is
  std::set<std::string> tensor_attributes;                   // of these, those that are a tensor of one element
  std::vector<std::optional<std::uint32_t>> arguments;  // by input: the instance's argument, or nothing for a constant
  std::vector<OnnxLiteral> constants;                   // by input, where there is no argument; `other`: absent
  std::optional<std::string> wrapper;
  bool variadic = false;
};

/// What the node's value means where the mapping takes numbers from the end, or 0 and -1 in shapes.
OnnxLiteral normalized(const algebra::OnnxValue& value, OnnxLiteral literal, const OnnxNodeFacts& facts,
                       std::span<const algebra::Poly> sizes, algebra::Symbols& symbols);

/// Why the node does not say the mapping at these sizes; empty if it does. Inputs that are arguments are the caller's.
std::string mismatch(const algebra::OnnxMapping& mapping, const OnnxNodeFacts& facts,
                     std::span<const algebra::Poly> sizes, algebra::Symbols& symbols);

/// What is known where a node is written.
struct OnnxPlace {
  int kind = 1;                                     // ONNX's number of the first input's element type
  const algebra::Shape* first_shape = nullptr;      // of the first input
  std::function<bool(const algebra::Poly&)> known;  // whether an input that is a list may have this size; none: no
};

/// What says the mapping, if its values are numbers at these sizes or sizes that are known when the model runs; and the
/// first mapping of the instance for which there is such a thing in the opset, numbers alone if that can be.
std::optional<OnnxNodeText> emit(const algebra::OnnxMapping& mapping, std::span<const algebra::Poly> sizes,
                                 algebra::Symbols& symbols, const OnnxPlace& place = {});
std::optional<OnnxNodeText> emit(const algebra::Instance& instance, std::span<const algebra::Poly> sizes, int opset,
                                 algebra::Symbols& symbols, const OnnxPlace& place = {});

/// Every number that occurs among integers in attributes and constant inputs, then 1 and 0, each once.
std::vector<std::int64_t> integers_of(const OnnxNodeFacts& facts);

}  // namespace rulemill::optimize
