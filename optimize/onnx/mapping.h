// One ONNX node as plain data, and an instance's ONNX mapping read in both directions: does a node say this instance,
// and which attributes and constant inputs say it. No protobuf here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algebra/language/instance.h"

namespace rulemill::optimize {

/// An attribute's value, or the value of a constant input.
struct OnnxLiteral {
  bool is_list = false;
  std::vector<std::int64_t> integers;
  std::optional<std::string> word;
  std::optional<double> number;
  bool other = false;  // a tensor, a graph, floats: nothing that a mapping can say
};

/// What a mapping looks at in an ONNX node.
struct OnnxNodeFacts {
  std::string op_type;
  std::map<std::string, OnnxLiteral> attributes;
  std::vector<std::optional<OnnxLiteral>> constant_inputs;  // by input; integers and single floats
};

/// The values of a mapping at known sizes.
struct OnnxNodeText {
  std::string op_type;
  std::map<std::string, OnnxLiteral> attributes;
  std::vector<std::optional<std::uint32_t>> arguments;  // by input: the instance's argument, or nothing for a constant
  std::vector<OnnxLiteral> constants;                   // by input, where there is no argument
  std::optional<std::string> wrapper;
  bool variadic = false;
};

/// Why the node does not say the mapping at these sizes; empty if it does. Inputs that are arguments are the caller's.
std::string mismatch(const algebra::OnnxMapping& mapping, const OnnxNodeFacts& facts,
                     std::span<const algebra::Poly> sizes, algebra::Symbols& symbols);

/// The first mapping of the instance that the opset has and whose values are all numbers at these sizes.
std::optional<OnnxNodeText> emit(const algebra::Instance& instance, std::span<const algebra::Poly> sizes, int opset,
                                 algebra::Symbols& symbols);

/// Every integer that occurs in attributes and constant inputs, then 1 and 0, each once.
std::vector<std::int64_t> integers_of(const OnnxNodeFacts& facts);

}  // namespace rulemill::optimize
