// Literal values of ONNX attributes and constant inputs. Independent of protobuf.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algebra/sizes/poly.h"

namespace rulemill::optimize {

/// The value of an attribute, or of an input that is constant or computed from tensor shapes.
struct OnnxLiteral {
  bool is_list = false;
  std::vector<algebra::Poly> integers;
  std::optional<std::string> string_value;
  std::optional<double> float_value;
  bool as_float32 = false;      // an input: integral numbers stored as float32; an attribute: a tensor of one float32
  bool is_unsupported = false;  // tensors, graphs, lists of floats: no mapping contains them
  std::vector<double> floats;   // of an attribute that is a list of floats

  bool operator==(const OnnxLiteral&) const = default;
};

}  // namespace rulemill::optimize
