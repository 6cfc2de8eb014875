// Finds the steps of a proof that the checker can follow. It may be wrong: what it finds counts only once it was
// followed.
#pragma once

#include <optional>
#include <string>

#include "algebra/terms/term.h"
#include "check/kernel/proof.h"
#include "prove/elaboration/limits.h"
#include "prove/normal_form/align.h"
#include "prove/sizes.h"

namespace rulemill::prove {

struct Elaboration {
  std::optional<check::Proof> proof;
  std::string reason;  // why there is none
};

/// `samples`: sizes, by name, at which the rule stands; they save time where something cannot be shown. `believing`:
/// every obligation is taken as shown, for tests of the checker.
Elaboration elaborate(check::Statement& statement, const std::vector<SizesByName>& samples, const AlignLimits& align,
                      const ElaborationLimits& limits = {}, bool believing = false);

/// Likewise for a derived rule: where its sides are defined, and lemmas for what its instances owe.
Elaboration elaborate_domains(check::Statement& statement, const std::vector<check::Obligation>& owed,
                              const std::vector<SizesByName>& samples, const AlignLimits& align,
                              const ElaborationLimits& limits);

}  // namespace rulemill::prove
