// Checks a rule database without trusting the program that made it. Every certificate must state its rule and the
// definitions, its proof must pass the checker (check/), its rule instances must type and satisfy their conditions,
// every solver must confirm all obligations, and both sides must be equal at random sizes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "algebra/rules/rule_set.h"

namespace rulemill::prove {

struct CheckOptions {
  std::uint64_t seed = 1;                          // of the sizes and elements at which rules are evaluated
  std::filesystem::path cvc5;                      // empty: Z3 only
  std::size_t cvc5_scripts_per_batch = 4096;       // cvc5 runs while the next batch is prepared
  std::chrono::milliseconds cvc5_timeout{600000};  // of a batch
};

struct CheckFinding {
  std::string rule, what;
};

struct CheckReport {
  std::vector<CheckFinding> findings;
  std::uint64_t by_definitions = 0, by_derivation = 0;
  std::uint64_t obligations = 0;          // confirmed by solvers, not counting that instances imply a derived rule
  std::uint64_t identities = 0;           // obligations that hold trivially
  std::uint64_t without_obligations = 0;  // rules proved from the definitions by identities only
  std::uint64_t assuming_laws = 0;        // rules whose operators have assumed laws
  std::uint64_t evaluated = 0;            // rules that were evaluated at random sizes
  std::uint64_t median_bytes = 0;         // of a certificate
  double seconds_kernel = 0, seconds_evaluate = 0, seconds_z3 = 0, seconds_cvc5 = 0;
};

/// Throws Interrupted on a signal, so that an interrupted solver's answer is not reported.
CheckReport check(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                  algebra::Symbols& symbols, const CheckOptions& options);

/// Returns the rules of these names and the rules that their derivations use, with all rules of the same names: what
/// must be checked before a result of the named rules can be relied on. A name may be that of a specialization.
algebra::RuleSet select_with_premises(const algebra::RuleSet& rules, const std::set<std::string>& names);

}  // namespace rulemill::prove
