// Checks a rule database without trusting the program that made it. Every certificate must state its rule and the
// definitions, its proof must pass the checker (check/), its rule instances must type and satisfy their conditions,
// every solver must confirm all obligations, and both sides must be equal at random sizes (record_check.h).
#pragma once

#include <set>
#include <string>

#include "prove/certificate/check_report.h"

namespace rulemill::prove {

/// Checks rules in memory, in this process; core/database_check.h checks a file with worker processes. Throws
/// Interrupted on a signal.
CheckReport check(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                  algebra::Symbols& symbols, const CheckOptions& options);

/// Returns the rules of these names and the rules that their derivations use, with all rules of the same names: what
/// must be checked before a result of the named rules can be relied on. A name may be that of a specialization.
algebra::RuleSet select_with_premises(const algebra::RuleSet& rules, const std::set<std::string>& names);

}  // namespace rulemill::prove
