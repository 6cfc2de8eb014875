// A rule drawn for a terminal: both sides as trees beside each other, a node that is used twice drawn once and then
// named.
#pragma once

#include <string>

#include "algebra/term.h"

namespace rulemill::algebra {

/// Lines in UTF-8, each ended by a newline. Every variable carries its shape, if the rule is typed.
std::string picture(const Rule& rule, const TermBank& bank, const Symbols& symbols);

}  // namespace rulemill::algebra
