// Imports rules from other systems: each rule is typed and then proved or refuted like a candidate. The proved rules
// become a rule database with a core, which implies the others, and derived rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "egraph/derive.h"
#include "prove/prover/prover.h"
#include "prove/refuter/counterexample.h"

namespace rulemill::prove {

struct ImportVerdict {
  RuleStatus status = RuleStatus::Unreadable;
  std::string name, place;
  std::string rule;       // typed, in text form; empty if it does not type
  std::string detail;     // the condition in words, the counterexample, or the reason why there is none
  std::string condition;  // that narrows the rule
  std::optional<Counterexample> counterexample;  // of a refuted rule
  std::string certificate;                       // of a proved or narrowed rule
  std::uint64_t queries = 0;
  double seconds = 0;
};

/// Proves or refutes rules, in order and independently of each other. A proved rule is certified from its text form,
/// which a database stores. An error in one rule makes it unknown.
std::vector<ImportVerdict> prove_imported_rules(const std::vector<algebra::ImportedRule>& rules,
                                                algebra::Library& library, algebra::TermBank& bank,
                                                algebra::Symbols& symbols, const ProverOptions& options);

/// What a proved rule became. Subsumed rules are not stored, nor are rules whose derivation has no checkable proof.
struct ImportPlacement {
  enum class Kind : std::uint8_t { Core, Derived, Subsumed, Dropped };
  std::string name;
  Kind kind = Kind::Core;
  std::string reason = {};  // why it was dropped
};

/// Returns a database of the proved rules, with certificates, and of the narrowed ones if they are kept. Smaller rules
/// are preferred for the core.
algebra::RuleSet make_import_database(const std::vector<ImportVerdict>& verdicts, algebra::Library& library,
                                      algebra::TermBank& bank, algebra::Symbols& symbols, const ProverOptions& options,
                                      const egraph::Limits& limits, bool keep_narrowed = false,
                                      std::vector<ImportPlacement>* placements = nullptr);

}  // namespace rulemill::prove
