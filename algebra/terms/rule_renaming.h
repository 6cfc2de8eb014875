// Whether two rules are one: the same up to the names of variables and sizes, which side stands first, the order of
// outputs, and the order of commutative arguments.
#pragma once

#include <string>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// Both rules typed, in one bank.
bool same_rule(const Rule& a, const Rule& b, const TermBank& bank, Symbols& symbols);

/// Equal for rules that are the same; unequal for most others.
std::string renaming_key(const Rule& rule, const TermBank& bank);

}  // namespace rulemill::algebra
