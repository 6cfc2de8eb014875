// NumPy's archives of arrays (numpy.savez, numpy.savez_compressed): a zip file with one .npy file per array.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rulemill::optimize {

/// The values of one input as they are in a file.
struct InputTensor {
  int onnx_type = 0;  // ONNX's number of the element type
  std::vector<std::int64_t> shape;
  std::string raw;  // elements in row-major order, little endian
};

/// Parses an archive. Returns the arrays by name. Arrays in Fortran order are converted to row-major order. `place` is
/// the file in messages. Throws InputError if it is damaged, or has anything but arrays of numbers and Booleans.
std::map<std::string, InputTensor> parse_npz(std::string_view bytes, const std::string& place);

/// Serializes one array as a .npy file; the element type must be one that parse_npz() returns, or bfloat16, which NumPy
/// lacks and which becomes uint16.
std::string serialize_npy(const InputTensor& tensor);

}  // namespace rulemill::optimize
