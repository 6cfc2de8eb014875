// Rules in which some uses of a variable are replaced by a new variable of the same type: x·(y + y) = x·y + x·y becomes
// x·(y + z) = x·y + x·z. Whether such a rule holds must be proved.
#pragma once

#include <functional>

#include "algebra/terms/term.h"

namespace rulemill::prove {

/// Calls the function for each way to split a variable of a typed rule in two, both of which occur on both sides, until
/// it returns true. Variables with more than 6 uses are not split. Returns whether a call returned true.
bool any_split(const algebra::Rule& rule, algebra::TermBank& bank,
               const std::function<bool(const algebra::Rule&)>& accept);

}  // namespace rulemill::prove
