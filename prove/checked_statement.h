// A single statement, proved as it stands: for rules that are used once and not stored in a database.
#pragma once

#include <string>

#include "algebra/library/library.h"
#include "prove/prover/prover.h"

namespace rulemill::prove {

/// Returns true if the typed rule, in text form, is proved for all its sizes without a further condition, and if the
/// checker accepts its certificate. Text that is no rule is not proved.
bool is_proved_and_checked(const std::string& statement, algebra::Library& library, const ProverOptions& options);

}  // namespace rulemill::prove
