// Writes rules in TASO's protobuf form, as far as it can say them: it has no shapes and no conditions, and its
// operators are those of a table.
#pragma once

#include <string>
#include <vector>

#include "algebra/exchange/taso_table.h"
#include "algebra/terms/term.h"

namespace rulemill::algebra {

struct TasoFile {
  std::string bytes;
  std::vector<std::string> written;  // names of the rules, in the file's order
  struct LeftOut {
    std::string rule, reason;
  };
  std::vector<LeftOut> left_out;
};

/// Of typed rules. Each one that is written has been read again and is the same.
TasoFile write_taso_rules(const std::vector<Rule>& rules, const TasoTable& table, Library& library, TermBank& bank,
                          Symbols& symbols);

}  // namespace rulemill::algebra
