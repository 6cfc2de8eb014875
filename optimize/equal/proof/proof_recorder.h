// The proof of a sweep, written while it runs.
#pragma once

#include <string>

#include "optimize/equal/proof/model_term.h"
#include "optimize/equal/proof/result_proof.h"
#include "optimize/equal/prover/window_statement.h"

namespace rulemill::optimize {

class ProofRecorder {
 public:
  ProofRecorder(GraphBank& bank, const CanonicalModel& before, const CanonicalModel& after)
      : bank_(bank), terms_(bank, before, after) {}

  /// Adds that an original value of the second model equals a canonical value: by a statement, or as constants that
  /// agree. To be called before the value is merged.
  void add(ValueId original, ValueId partner, const ProvedStatement* statement, bool output = false);
  /// Notes that a step has no proof that can be stored.
  void fail(const std::string& reason) {
    if (gap_.empty()) gap_ = reason;
  }

  /// The first reason for which there is no proof; empty if there is one.
  const std::string& gap() const { return gap_; }
  /// Returns the steps and the rules.
  proto::ModelProof proof() const;

 private:
  bool write(const StatementInstance& instance, proto::ModelStep& step);

  GraphBank& bank_;
  ModelTerms terms_;
  ProofRules rules_;
  std::vector<proto::ModelStep> steps_;
  std::string gap_;
};

}  // namespace rulemill::optimize
