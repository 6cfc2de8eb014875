// Values that the user gives for all inputs of a model, to verify and time it on what it sees in use.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "optimize/model/given_inputs.h"
#include "optimize/onnx/format/model.h"
#include "optimize/onnx/import.h"
#include "optimize/onnx/inputs/npz.h"

namespace rulemill::optimize {

struct InputSet {
  std::string origin;                          // the file or folder
  std::map<std::string, InputTensor> tensors;  // by name of the model's input
};

/// Reads a NumPy archive (*.npz), which is one set; a folder of ONNX test data (input_0.pb, input_1.pb, ...), which is
/// one set; or a folder of such folders called test_data_set_*. Throws InputError if a file is unreadable or malformed,
/// or if names, element types or shapes do not fit the model.
std::vector<InputSet> read_input_sets(const std::filesystem::path& path, const OnnxModel& model);

/// Converts the inputs whose types the algebra has. Throws InputError for shapes at which the model has no values.
GivenInputs to_given_inputs(const InputSet& set, const ImportedModel& import, const GraphBank& bank);

/// Writes each tensor as a NumPy file for the helper programs. Returns the paths by input.
std::map<std::string, std::string> write_numpy_files(const InputSet& set, const std::filesystem::path& folder);

}  // namespace rulemill::optimize
