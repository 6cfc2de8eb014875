// Sums and polynomials as text, and back. This is not trusted: a proof that is misread is checked like any other.
#pragma once

#include <string>
#include <string_view>

#include "check/kernel/statement.h"

namespace rulemill::check {

/// Parses the output of Atoms::text. Throws InputError at `place` on anything else.
Poly parse_poly(std::string_view text, const std::string& place, Atoms& atoms);
/// Parses the polynomial at the beginning of the text, and removes it.
Poly parse_prefix(std::string_view& text, const std::string& place, Atoms& atoms);
Guard parse_guard(std::string_view text, const std::string& place, Atoms& atoms);
/// Parses the output of Statement::text. Throws InputError at `place` on anything else.
Sum parse_sum(std::string_view text, const std::string& place, const Statement& statement);

}  // namespace rulemill::check
