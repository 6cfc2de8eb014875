// Checks a rule database without trusting what made it: every certificate states its rule, its obligations are those
// that the definitions give, its lemmas are instances of known theorems, its instances type and satisfy their
// conditions, and every solver answers "unsat" alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "prove/prover.h"

namespace rulemill::prove {

struct CheckOptions {
  ProverOptions prover;
  std::filesystem::path cvc5;  // empty: no second opinion
  std::chrono::milliseconds cvc5_timeout{600000};
};

/// What does not hold; `rule` is empty for a theorem that lemmas rest on.
struct CheckFinding {
  std::string rule, what;
};

struct CheckReport {
  std::vector<CheckFinding> findings;
  std::uint64_t by_definitions = 0, by_derivation = 0, obligations = 0, theorems = 0;
  std::uint64_t median_bytes = 0;  // of a certificate
  double seconds_rebuild = 0, seconds_z3 = 0, seconds_cvc5 = 0;
};

CheckReport check(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                  algebra::Symbols& symbols, const CheckOptions& options);

}  // namespace rulemill::prove
