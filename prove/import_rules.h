// Imports rules from other systems: each rule is typed and then proved or refuted like a candidate. The proved rules
// become a rule database with a core, which implies the others, and derived rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algebra/exchange/taso_reader.h"
#include "algebra/rules/rule_set.h"
#include "egraph/derive.h"
#include "prove/prover/prover.h"
#include "prove/refuter/counterexample.h"

namespace rulemill::prove {

struct ImportVerdict {
  RuleStatus status = RuleStatus::Unreadable;
  std::string name, place;
  std::string rule;       // typed, in text form; empty if it does not type
  std::string detail;     // the condition found and fixed sizes; the counterexample; or the reason why there is none
  std::string condition;  // the condition that was found or that narrows the rule, if any
  std::optional<Counterexample> counterexample;  // of a refuted rule
  std::uint64_t queries = 0;
  double seconds = 0;
};

/// Returns the verdict's status, or narrowed: proved only where a size that the statement leaves open is a number.
RuleStatus status_of_statement(const Verdict& verdict);
/// Returns the condition under which the statement was proved: the one that was found, or that narrows it; or nothing.
std::string condition_of_statement(const Verdict& verdict, const algebra::Symbols& symbols);
/// Returns that condition for people: the dimensions that are numbers ("when dimension 2 of k is 1"), or the shapes for
/// which the statement holds ("with x[n, g*q, h, w], k[q*q2, g, r, s]"). "" of a statement that is not proved.
std::string describe_condition(const Verdict& verdict, const algebra::TermBank& bank, const algebra::Symbols& symbols);

/// Proves or refutes rules, in order and independently of each other. A proved rule is also proved from its text form,
/// which a database stores.
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
