// A test of every ONNX mapping on random types, shapes and parameters, with chosen numbers first and random ones then:
// onnxruntime runs a one-node model in a helper process, and the result is compared with the definition. It detects a
// wrong mapping when the mapping is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::optimize {

struct MappingReport {
  std::string operator_name, op_type;
  std::uint32_t index = 0;  // index among the operator's mappings
  int agreed = 0, rejected = 0;
  std::string difference;  // the first node whose result differs; empty if none does
  std::string rejection;   // why onnxruntime does not run the first node that it rejects, or has no such domain
  bool was_compared() const { return agreed > 0 || !difference.empty(); }
};

struct MappingCheckOptions {
  std::vector<std::string> command;  // starts the helper process
  bool is_torch = false;             // checks the mappings of PyTorch's operators, and no others
  int trials = 6;                    // random nodes per mapping, after those with chosen numbers
  std::uint64_t seed = 1;
  double tolerance = 1e-4;  // relative to max(1, |expected|)
};

/// Checks all mappings in order of definition. `verifier` receives the runtime's name. Throws Error if the helper
/// cannot be started, and InputError if a mapping names an operator, attribute or input that its domain does not have.
/// Operators of domains that the runtime does not have are not compared.
std::vector<MappingReport> check_mappings(algebra::Library& library, const MappingCheckOptions& options,
                                          std::string& verifier);

}  // namespace rulemill::optimize
