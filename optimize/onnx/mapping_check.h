// Every ONNX mapping tried on random types, shapes and parameters: a model of one node, run by onnxruntime in a helper
// process, against what the definition says. A mapping that means something else is found when it is written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::optimize {

struct MappingReport {
  std::string operator_name, op_type;
  std::uint32_t number = 0;  // among the operator's mappings
  int agreed = 0, refused = 0;
  std::string difference;  // the first node whose result differs, and how; empty if none does
  std::string refusal;     // what onnxruntime said of the first node that it does not run
  bool tried() const { return agreed > 0 || !difference.empty(); }
};

struct MappingCheckOptions {
  std::vector<std::string> command;  // starts the helper
  int trials = 6;                    // for each mapping
  std::uint64_t seed = 1;
  double tolerance = 1e-4;  // relative to max(1, |expected|)
};

/// `judge` receives the helper's name. Throws Error if it cannot be started. In the order of definition.
std::vector<MappingReport> check_mappings(algebra::Library& library, const MappingCheckOptions& options,
                                          std::string& judge);

}  // namespace rulemill::optimize
