#include "runtime/text/error.h"

namespace rulemill::runtime {

void check_failed(const char* expression, const char* file, int line, const std::string& message) {
  throw Error(std::string(file) + ":" + std::to_string(line), message + " (broken invariant: " + expression + ")");
}

}  // namespace rulemill::runtime
