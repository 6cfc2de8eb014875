// Equality of rules up to names of variables and sizes, direction, the order of outputs, and the order of commutative
// arguments.
#pragma once

#include <string>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// True if the rules are equal in this sense. Both are typed and in one bank.
bool is_renaming_of(const Rule& a, const Rule& b, const TermBank& bank, Symbols& symbols);

/// A hash key: equal for renamings, different for most other rules.
std::string renaming_key(const Rule& rule, const TermBank& bank);

}  // namespace rulemill::algebra
