// Proves that a sum of the prover is zero by steps on the checker's kernel, where normal forms do not show it.
#pragma once

#include "algebra/terms/typing.h"
#include "prove/elaboration/elaborate.h"
#include "prove/normal_form/normal_form.h"

namespace rulemill::prove {

/// True if it is shown that the sum is zero wherever the rule is well-typed and the guards hold, for all values of free
/// indices.
bool prove_zero(const Sum& sum, const Guards& given, const algebra::TypedRule& rule, const algebra::TermBank& bank,
                const Symbols& symbols, const std::vector<SizesByName>& samples, const AlignmentLimits& align,
                const ElaborationLimits& limits);

}  // namespace rulemill::prove
