// The most general form of a proved rule: integer parameters left open, dimensions that are only passed through made
// groups of any rank. Each form is proved anew from the definitions, by steps that the checker follows; what cannot be
// proved stays as it was.
#pragma once

#include <optional>
#include <string>

#include "prove/prover.h"

namespace rulemill::prove {

struct General {
  algebra::Rule rule;       // typed, with groups
  std::string certificate;  // by definitions
};

/// Nothing if the rule holds at no other rank and for no other parameter. `rule` is typed.
std::optional<General> generalize(const algebra::Rule& rule, algebra::Library& library, algebra::TermBank& bank,
                                  algebra::Symbols& symbols, const ProverOptions& options);

}  // namespace rulemill::prove
