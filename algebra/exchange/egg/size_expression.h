// Sizes in egg and egglog texts: numbers, names, and (+ a b), with - * / % min max.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "algebra/exchange/egg/s_expression.h"

namespace rulemill::algebra {

/// Whether the text is a decimal integer.
bool is_integer(std::string_view text);

/// Whether the expression is a number, or arithmetic.
bool is_size_expression(const SExpression& expression);

/// Whether the expression is (shapeR TENSOR SIZE…).
bool is_shape_fact(const SExpression& expression);

/// Returns the expression in the text form of rules. `name` maps the name of a size. Throws InputError with the place
/// in the file `origin` for what is no size.
std::string size_text(const SExpression& expression, const std::string& origin,
                      const std::function<std::string(const std::string&)>& name);

}  // namespace rulemill::algebra
