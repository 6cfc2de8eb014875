// Checks definitions when they are loaded: laws hold, every combination of parameter values expands, and declared
// properties (commutativity, scalar kinds) hold.
#pragma once

#include <span>

#include "algebra/expansion/expand.h"

namespace rulemill::algebra {

/// Checks the declared laws and sets those that hold in the function. Throws InputError for a false law.
void check_laws(syntax::FunctionSyntax& syntax);

/// Checks that the instance is commutative, if declared so, and that its outputs have their declared scalar kinds.
/// Throws InputError if either is not shown.
void check_declared_properties(const syntax::Operator& op, const OperatorInstance& instance,
                               std::span<const Function> functions);

/// Expands the operator for all finite parameters and small ranks, so that loading finds every error in it.
void check_definition(const syntax::Operator& op, std::span<const Function> functions, const ExpansionContext& context);

}  // namespace rulemill::algebra
