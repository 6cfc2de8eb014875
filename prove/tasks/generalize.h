// The most general form of a proved rule: variables with several uses are split, integer parameters become symbolic,
// and dimensions that are only passed through become dimension packs. Each form is proved again from the definitions,
// with a certificate. Unproved forms are dropped.
#pragma once

#include <optional>
#include <string>

#include "prove/prover/prover.h"

namespace rulemill::prove {

struct GeneralRule {
  algebra::Rule rule;       // typed
  std::string certificate;  // from the definitions
};

/// Generalizes a typed rule. None if no more general form was proved.
std::optional<GeneralRule> generalize(const algebra::Rule& rule, algebra::Library& library, algebra::TermBank& bank,
                                      algebra::Symbols& symbols, const ProverOptions& options);

}  // namespace rulemill::prove
