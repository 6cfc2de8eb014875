// The values of an operator's parameters: domains, defaults and validation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algebra/language/syntax.h"

namespace rulemill::algebra {

/// The values of a parameter whose domain is finite; empty otherwise. `rank` is that of the operator's first input.
std::vector<ParameterValue> domain(const syntax::Parameter& parameter, std::uint32_t rank);

/// Whether the parameter can be symbolic: an integer, or a list of them, without a finite domain.
bool can_be_symbolic(const syntax::Parameter& parameter);

/// Adds the defaults to `given` and validates all values. Sizes are excluded. Throws InputError.
Parameters complete_parameters(const syntax::Operator& op, const Parameters& given,
                               std::span<const std::uint32_t> ranks);

}  // namespace rulemill::algebra
