#include "runtime/process/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace rulemill::runtime {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1; }

bool shows_colours(std::FILE* stream) {
  return is_terminal(stream) && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

}  // namespace rulemill::runtime
