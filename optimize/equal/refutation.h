// Search for an input on which two models differ by their definitions. Outputs behind opaque nodes are not evaluated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optimize/equal/prover/window.h"
#include "optimize/onnx/import.h"

namespace rulemill::optimize {

/// An element at which a value differs, or its shape.
struct ElementDifference {
  std::string value;   // name
  std::string shapes;  // "[3, 64] became [3, 10]"; empty if they are equal
  std::uint64_t element = 0;
  double before = 0, after = 0;
  double relative = 0;  // difference, relative to the largest element, or to the bound of its errors
};

struct Refutation {
  std::string input;                          // how the elements were drawn: "elements in [-1, 1], draw 0"
  std::map<std::string, std::int64_t> sizes;  // of the open dimensions
  std::map<std::string, algebra::Tensor> inputs;
  ElementDifference output;
  ElementDifference first;  // of the first value, by the first model's order, that differs
  std::string node;         // that computes it in the first model: "Conv conv1"
};

struct RefutationOptions {
  std::uint32_t draws = 6;
  double multiply_adds = 1e9;  // of all draws, counted by the definitions, so that the answer depends on no clock
  bool at_least_one = true;    // a draw, even beyond that
};

struct RefutationResult {
  std::optional<Refutation> found;
  std::uint32_t draws = 0;    // evaluated
  std::uint64_t outputs = 0;  // that could be evaluated
  std::string reason;         // why fewer were evaluated
  bool too_large = false;     // not even one draw was within the limit
};

/// Compares the outputs, which are pairs of original values. A difference counts if it exceeds 64 unit roundoffs and 64
/// times the rounding error of either model; or, in a small model, 64 times the bound of its element's errors.
RefutationResult refute_equality(const GraphBank& bank, const ImportedModel& before, const ImportedModel& after,
                                 const std::vector<ValuePair>& outputs, const RefutationOptions& options = {});

/// Compares the files in onnxruntime, which `command` starts. Returns true if they differ, and how; else adds to
/// `evaluation` what was found.
bool refute_in_onnxruntime(const std::filesystem::path& before, const std::filesystem::path& after,
                           const std::vector<std::string>& command, std::string& difference, std::string& evaluation);

}  // namespace rulemill::optimize
