// The values of one input as they are in a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rulemill::optimize {

struct InputTensor {
  int onnx_type = 0;  // ONNX's number of the element type
  std::vector<std::int64_t> shape;
  std::string raw;  // elements in row-major order, little endian
};

}  // namespace rulemill::optimize
