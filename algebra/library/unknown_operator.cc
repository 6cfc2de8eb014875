#include "algebra/library/unknown_operator.h"

#include "runtime/text/unknown_name.h"

namespace rulemill::algebra {

std::string unknown_operator(const std::string& name, const std::vector<std::string>& operators) {
  return runtime::unknown_name("operator", name, operators, "`rulemill operators list`");
}

}  // namespace rulemill::algebra
