// The check of one rule of a database: its typing, its certificate, and its values at random sizes. All commands that
// check rules call it, in their own process or in workers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/rules/rule_set_file.h"
#include "check/evaluate.h"
#include "prove/certificate/certificate.h"
#include "prove/solver/z3_session.h"

namespace rulemill::prove {

struct CheckCounts {
  std::uint64_t by_definitions = 0, by_derivation = 0;
  std::uint64_t obligations = 0;          // confirmed by solvers, not counting that instances imply a derived rule
  std::uint64_t identities = 0;           // obligations that hold trivially
  std::uint64_t without_obligations = 0;  // rules proved from the definitions by identities only
  std::uint64_t assuming_laws = 0;        // rules whose operators have assumed laws
  std::uint64_t evaluated = 0;            // rules that were evaluated at random sizes
  double seconds_kernel = 0, seconds_evaluate = 0, seconds_z3 = 0;  // sums over all processes
  CheckCounts& operator+=(const CheckCounts& other);
};

struct RecordCheck {
  /// An SMT-LIB script to which a solver must answer "unsat".
  struct Script {
    std::string claim, text;
  };
  std::string malformed;              // why the record is no rule of this database; then nothing else is set
  std::vector<std::string> findings;  // empty: the rule is valid
  std::vector<Script> scripts;        // for a second solver, if asked for
  CheckCounts counts;
};

/// Returns the finding if a solver's answers are not "unsat".
std::optional<std::string> find_wrong_answer(const RecordCheck::Script& script, const std::vector<std::string>& answers,
                                             const std::string& solver);

/// The statements of the rules that a certificate's rule instances name; not of those that do not exist.
struct PremiseStatements {
  std::map<std::string, std::string> statements;  // by name
  std::string error;                              // why they cannot be stated
};
/// Empty unless it is the certificate of a derived rule.
PremiseStatements find_premises(const algebra::Certificate& certificate, PremiseRules& rules);

/// Evaluates a rule at random sizes that satisfy it.
check::Evaluation evaluate_at_samples(const algebra::Rule& rule, algebra::TermBank& bank, algebra::Symbols& symbols,
                                      std::uint64_t seed);

struct RecordCheckOptions {
  std::uint64_t seed = 1;      // of the sizes and elements at which the rule is evaluated
  bool keeps_scripts = false;  // RecordCheck::scripts is filled
};

/// Checks a rule whose terms are in `bank`. The premises' own certificates are checked elsewhere. Leaves nothing in the
/// bank and in the symbols. Throws Interrupted on a signal, so that an interrupted solver's answer is not reported.
RecordCheck check_record(const algebra::RuleRecord& record, const PremiseStatements& premises,
                         algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols, Z3Session& z3,
                         const RecordCheckOptions& options);

/// All that the check of one rule depends on, besides the definitions.
struct RecordCheckRequest {
  algebra::StoredRule rule;
  PremiseStatements premises;
  RecordCheckOptions options;
};
std::string pack(const RecordCheckRequest& request);
std::string pack(const RecordCheck& check);
RecordCheck unpack_record_check(std::string_view packed);

/// Reads and checks the rule of a packed request; returns the packed result.
std::string check_stored_record(std::string_view packed_request, algebra::Library& library, Z3Session& z3);

}  // namespace rulemill::prove
