// Checks a rule database without trusting what made it: every certificate states its rule and the definitions it is
// about, its steps are followed by the checker (check/), its instances type and satisfy their conditions, every solver
// answers "unsat" to what that leaves to be shown, and both sides agree at random sizes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "algebra/rules/rule_set.h"

namespace rulemill::prove {

struct CheckOptions {
  std::uint64_t seed = 1;                          // of the sizes and elements at which rules are evaluated
  std::filesystem::path cvc5;                      // empty: no second opinion
  std::size_t cvc5_scripts = 4096;                 // that it gets at once, while others are made
  std::chrono::milliseconds cvc5_timeout{600000};  // for these
};

struct CheckFinding {
  std::string rule, what;
};

struct CheckReport {
  std::vector<CheckFinding> findings;
  std::uint64_t by_definitions = 0, by_derivation = 0;
  std::uint64_t obligations = 0;   // shown by solvers, besides that instances imply a derived rule
  std::uint64_t identities = 0;    // steps of theirs that are right as they stand
  std::uint64_t without = 0;       // rules by definitions that leave nothing to a solver: identities alone
  std::uint64_t assuming = 0;      // rules whose operators have laws that are assumed
  std::uint64_t evaluated = 0;     // rules that were evaluated at random sizes
  std::uint64_t median_bytes = 0;  // of a certificate
  double seconds_follow = 0, seconds_evaluate = 0, seconds_z3 = 0, seconds_cvc5 = 0;
};

/// Throws Interrupted on a signal: what a solver answers then counts for nothing.
CheckReport check(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                  algebra::Symbols& symbols, const CheckOptions& options);

}  // namespace rulemill::prove
