// Expands a parsed operator at fixed ranks and parameters into an OperatorInstance: names become slots, packs become
// lists, predicates on parameters are decided, composites are inlined. Only algebra/library uses it.
#pragma once

#include <span>

#include "algebra/expansion/expansion_context.h"

namespace rulemill::algebra {

/// `parameters` has a valid value for each parameter that is not a size. Throws InputError with the place in the
/// definition.
OperatorInstance expand(const syntax::Operator& op, const Parameters& parameters, std::span<const std::uint32_t> ranks,
                        const ExpansionContext& context);

}  // namespace rulemill::algebra
