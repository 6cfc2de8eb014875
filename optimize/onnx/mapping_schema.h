// Whether an ONNX mapping names an operator, attributes and inputs that exist, by the schemas of a runtime.
#pragma once

#include <string>
#include <vector>

#include "algebra/language/generic_onnx_mapping.h"

namespace rulemill::optimize {

/// A version of an operator: it holds up to the next version.
struct OperatorSchema {
  int since = 1;
  std::vector<std::string> attributes;
  std::size_t max_inputs = 0;
};

struct KnownSchemas {
  int newest_version = 0;                // of the domain; 0: the runtime does not have the domain
  std::vector<OperatorSchema> versions;  // of the operator, oldest first
};

/// Returns what the mapping names that does not exist in its domain, which the runtime has; empty if all exists, or if
/// the mapping is for a newer opset than the runtime's.
std::string find_unknown_name(const algebra::GenericOnnxMapping& mapping, const KnownSchemas& known);

}  // namespace rulemill::optimize
