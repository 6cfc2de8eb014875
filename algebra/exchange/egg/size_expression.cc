#include "algebra/exchange/egg/size_expression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "algebra/language/lexer.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

/// A function and its form in rules: between the operands, or in front of two.
struct SizeFunction {
  std::string_view name, text;
  bool infix;
};
constexpr std::array<SizeFunction, 7> size_functions = {{{"+", " + ", true},
                                                         {"-", " - ", true},
                                                         {"*", " * ", true},
                                                         {"/", "div", false},
                                                         {"%", "mod", false},
                                                         {"min", "min", false},
                                                         {"max", "max", false}}};

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

}  // namespace

bool is_integer(std::string_view text) { return is_digits(text.starts_with('-') ? text.substr(1) : text); }

bool is_size_expression(const SExpression& expression) {
  if (expression.is_atom()) return is_integer(expression.text);
  return std::ranges::find(size_functions, expression.head(), &SizeFunction::name) != size_functions.end();
}

bool is_shape_fact(const SExpression& expression) {
  constexpr std::string_view relation = "shape";
  return expression.head().starts_with(relation) && is_digits(expression.head().substr(relation.size()));
}

std::string size_text(const SExpression& expression, const std::string& origin,
                      const std::function<std::string(const std::string&)>& name) {
  if (expression.is_atom()) return is_integer(expression.text) ? expression.text : name(expression.text);
  const auto* function = std::ranges::find(size_functions, expression.head(), &SizeFunction::name);
  if (function == size_functions.end() || expression.items.size() != 3)
    throw runtime::InputError(
        place(origin, expression.line, expression.column),
        "expected a size: a number, a name, or + - * / % min max of two sizes, found " + to_string(expression));
  const std::string left = size_text(expression.items[1], origin, name);
  const std::string right = size_text(expression.items[2], origin, name);
  if (function->infix) return "(" + left + std::string(function->text) + right + ")";
  return std::string(function->text) + "(" + left + ", " + right + ")";
}

}  // namespace rulemill::algebra
