// Checks a rule database without trusting the program that made it. Every certificate must state its rule and the
// definitions, its proof must pass the checker (check/), its rule instances must type and satisfy their conditions,
// every solver must confirm all obligations, and both sides must be equal at random sizes (record_check.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "prove/certificate/record_check.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/process/subprocess.h"

namespace rulemill::prove {

// Runs SMT-LIB scripts in cvc5, a second, independent solver.

/// Returns the cvc5 binary beside this program, as a packed folder has it, or on PATH; empty if there is none.
std::filesystem::path find_cvc5();

/// A cvc5 process that runs scripts concurrently, with a reset between them.
class Cvc5Run {
 public:
  Cvc5Run(const std::filesystem::path& cvc5, const std::vector<std::string>& scripts);

  /// Waits for the answers to each script. Throws Error if the timeout is exceeded.
  std::vector<std::vector<std::string>> answers(std::chrono::milliseconds timeout);
  /// Returns the time from the start to the last answer; valid after answers().
  double seconds() const;

 private:
  runtime::ScratchFolder folder_;
  std::size_t scripts_;
  runtime::Subprocess process_;
};

struct CheckOptions {
  std::uint64_t seed = 1;                          // of the sizes and elements at which rules are evaluated
  std::filesystem::path cvc5;                      // empty: Z3 only
  std::size_t cvc5_scripts_per_batch = 4096;       // cvc5 runs while the next batch is prepared
  std::chrono::milliseconds cvc5_timeout{600000};  // of a batch
};

struct CheckFinding {
  std::string rule, what;
};

struct CheckReport : CheckCounts {
  std::vector<CheckFinding> findings;
  std::uint64_t median_bytes = 0;  // of a certificate
  double seconds_cvc5 = 0;
};

/// Collects the checks of a database's rules in the order of the rules, and runs cvc5 on their scripts.
class CheckCollector {
 public:
  explicit CheckCollector(const CheckOptions& options) : options_(options) {}

  /// Reports names that two rules have. Before the first rule.
  void add_name(const std::string& rule);
  void add(const std::string& rule, std::size_t certificate_bytes, RecordCheck&& check);
  CheckReport finish();

 private:
  struct Script {
    std::string rule, claim, text;
  };
  void start_cvc5();
  void finish_cvc5();

  const CheckOptions& options_;
  std::set<std::string> names_;
  std::vector<std::uint64_t> sizes_;         // of certificates
  std::vector<Script> scripts_, running_;    // cvc5's next batch, and its current one
  std::optional<Cvc5Run> cvc5_;              // a concurrent process
  std::vector<CheckFinding> cvc5_findings_;  // reported last
  CheckReport report_;
};

/// Checks rules in memory, in this process; core/database_check.h checks a file with worker processes. Throws
/// Interrupted on a signal.
CheckReport check(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                  algebra::Symbols& symbols, const CheckOptions& options);

/// Returns the rules of these names and the rules that their derivations use, with all rules of the same names: what
/// must be checked before a result of the named rules can be relied on. A name may be that of a specialization.
algebra::RuleSet select_with_premises(const algebra::RuleSet& rules, const std::set<std::string>& names);

}  // namespace rulemill::prove
