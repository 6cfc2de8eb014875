// Values of an operator's parameters: what a definition allows, and the defaults.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algebra/language/syntax.h"

namespace rulemill::algebra {

/// Values that a parameter may take, if its domain is finite; `rank` is that of the operator's first input.
std::vector<ParameterValue> domain(const syntax::Parameter& parameter, std::uint32_t rank);

/// Whether an instance may leave it open: a number, or a list of them, that the definition does not choose from a list.
bool may_be_open(const syntax::Parameter& parameter);

/// Defaults filled in, every value checked. Sizes are not parameters in this sense. Throws InputError.
Parameters complete_parameters(const syntax::Operator& op, const Parameters& given,
                               std::span<const std::uint32_t> ranks);

}  // namespace rulemill::algebra
