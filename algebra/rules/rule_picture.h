// A rule drawn for a terminal: both sides as trees beside each other, a node that is used twice drawn once and then
// named.
#pragma once

#include <string>

#include "algebra/rules/rule_layout.h"

namespace rulemill::algebra {

/// Lines in UTF-8, each ended by a newline. Every variable carries its shape, if the rule is typed.
std::string picture(const Rule& rule, const TermBank& bank, const Symbols& symbols);

/// Both sides as steps, each with the shapes of what it computes: "%1 = matmul(x, w)  : [m, n]", and what equals what.
std::string typed_steps(const Rule& rule, const TermBank& bank, const Symbols& symbols, const Types& types);

}  // namespace rulemill::algebra
