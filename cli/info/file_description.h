// What `rulemill info` states about a file.
#pragma once

#include <string>

#include "runtime/text/json.h"

namespace rulemill::cli {

struct FileDescription {
  std::string kind;    // "rule database"
  std::string text;    // one line, after the kind
  runtime::Json json;  // what the text states
};

}  // namespace rulemill::cli
