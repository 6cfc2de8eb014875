// Whether a sum of the prover's is zero, by steps on the checker's kernel: for what normal forms alone do not show.
#pragma once

#include "algebra/terms/typing.h"
#include "prove/elaboration/elaborate.h"
#include "prove/normal_form/normal_form.h"

namespace rulemill::prove {

/// Shown: the sum is zero wherever the rule stands and the guards hold, whatever the indices are that nothing binds.
bool zero_by_steps(const Sum& sum, const Guards& given, const algebra::TypedRule& rule, const algebra::TermBank& bank,
                   const Symbols& symbols, const std::vector<SizesByName>& samples, const AlignLimits& align,
                   const ElaborationLimits& limits);

}  // namespace rulemill::prove
