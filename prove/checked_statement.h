// A single statement, proved as it stands: for windows of two models that no rule of a database shows to be equal.
#pragma once

#include <optional>
#include <string>

#include "algebra/library/library.h"
#include "algebra/rules/rule_set.h"
#include "prove/prover/prover.h"

namespace rulemill::prove {

/// Returns the certificate, which the checker has accepted, if the typed rule, in text form, is proved for all its
/// sizes without a further condition. Text that is no rule is not proved.
std::optional<algebra::Certificate> checked_certificate(const std::string& statement, algebra::Library& library,
                                                        const ProverOptions& options);

}  // namespace rulemill::prove
