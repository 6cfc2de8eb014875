// A drawing of a rule for a terminal: both sides as trees next to each other. A node with several uses is drawn once
// and then referenced by number.
#pragma once

#include <string>

#include "algebra/rules/rule_drawing.h"

namespace rulemill::algebra {

/// Draws the rule in UTF-8, each line ended by a newline. Variables of a typed rule are shown with their shapes.
std::string picture(const Rule& rule, const TermBank& bank, const Symbols& symbols);

/// Lists the nodes of both sides with their output shapes, "%1 = matmul(x, w)  : [m, n]", and the equal outputs.
std::string format_typed_steps(const Rule& rule, const TermBank& bank, const Symbols& symbols, const Types& types);

}  // namespace rulemill::algebra
