// Everything that one block of candidates is judged with: fresh terms and sizes, a prover, and a deriver that holds the
// core so far. A block's outcomes depend on the core and the block alone, whatever the process did before.
#pragma once

#include <span>
#include <string>

#include "egraph/derive.h"
#include "prove/outcome.h"
#include "prove/prover.h"

namespace rulemill::prove {

class Workbench {
 public:
  Workbench(algebra::Library& library, const ProverOptions& options, const egraph::Limits& limits);

  /// Adds a proved rule in text form to what may be derived from.
  void add_core(const std::string& rule);
  std::uint32_t core_size() const { return deriver_.rule_count(); }
  void enable(std::uint32_t core_rule, bool enabled) { deriver_.enable(core_rule, enabled); }

  /// Types, refutes, derives or proves a candidate in text form, its shapes an example.
  Outcome judge(const std::string& candidate);
  /// Whether the core implies a typed rule in text form; with `explain`, the certificate and the number of instances.
  bool derives(const std::string& rule, bool explain, Outcome* outcome = nullptr);
  /// Proves a typed rule in text form from the definitions alone.
  bool proves(const std::string& rule, Outcome& outcome);

  algebra::TermBank& bank() { return bank_; }
  algebra::Symbols& symbols() { return symbols_; }

 private:
  algebra::TypedRule typed(const std::string& rule);
  std::string derivation_text(const egraph::Derived& derived) const;

  algebra::Library& library_;
  algebra::TermBank bank_;
  algebra::Symbols symbols_;
  Prover prover_;
  egraph::Deriver deriver_;
};

}  // namespace rulemill::prove
