// Parses scalar functions: the definition, as a postfix program, and the declared laws.
#include "algebra/language/definition_parser.h"

namespace rulemill::algebra::syntax {

namespace {

struct LawForm {
  Law law;
  std::string text;
};

/// The laws that a function with these argument names can declare; none for more than two arguments.
std::vector<LawForm> law_forms(const std::string& f, const std::vector<std::string>& arguments) {
  const auto of = [&](const std::string& argument) { return f + "(" + argument + ")"; };
  if (arguments.size() == 2) {
    const std::string &s = arguments[0], &t = arguments[1];
    return {{Law::Commutative, of(s + ", " + t) + " = " + of(t + ", " + s)},
            {Law::Homogeneous, of("c * " + s + ", c * " + t) + " = c * " + of(s + ", " + t)}};
  }
  if (arguments.size() > 2) return {};
  const std::string& t = arguments[0];
  const std::string s = t == "s" ? "t" : "s";
  return {{Law::ZeroToZero, of("0") + " = 0"},
          {Law::Idempotent, of(of(t)) + " = " + of(t)},
          {Law::Exponential, of(s + " + " + t) + " = " + of(s) + " * " + of(t)},
          {Law::Homogeneous, of("c * " + t) + " = c * " + of(t)},
          {Law::Reciprocal, of("c * " + t) + " = " + of(t) + " / c"},
          {Law::Monotone, "max(" + of(s) + ", " + of(t) + ") = " + of("max(" + s + ", " + t + ")")},
          {Law::Odd, of("-" + t) + " = -" + of(t)},
          {Law::Even, of("-" + t) + " = " + of(t)}};
}

std::string without_blanks(std::string text) {
  std::erase(text, ' ');
  return text;
}

}  // namespace

FunctionSyntax Parser::parse_function() {
  FunctionSyntax syntax;
  Function& function = syntax.function;
  const Token name = cursor_.peek();
  syntax.place = place(cursor_.origin(), name.line, name.column);
  function.name = cursor_.expect_name("a function's name");
  std::vector<std::string> arguments;
  cursor_.expect("(", "after the function's name");
  do arguments.push_back(cursor_.expect_name("an argument's name"));
  while (cursor_.accept(","));
  cursor_.expect(")", "after the arguments");
  if (arguments.size() > max_arguments) {
    cursor_.fail(name,
                 "function '" + function.name + "' has more than " + std::to_string(max_arguments) + " arguments");
  }
  function.arity = static_cast<std::uint32_t>(arguments.size());
  cursor_.expect("=", "before the function's definition");
  parse_real_sum(function, arguments);
  if (stack_depth(function) > Function::max_stack_depth)
    cursor_.fail(name, "function '" + function.name + "' is nested too deeply");
  while (cursor_.accept("law")) syntax.laws.push_back(parse_law(function, arguments));
  const std::size_t mapping = cursor_.position();
  if (cursor_.accept("onnx")) {
    function.onnx_op_type = cursor_.expect_name("an ONNX operator");
    onnx_tokens_.emplace_back(mapping, cursor_.position());
  }
  return syntax;
}

std::size_t Parser::stack_depth(const Function& function) {
  std::size_t height = 0, highest = 0;
  for (const Function::Instruction& instruction : function.program) {
    const bool leaf = instruction.op == Function::Op::Argument || instruction.op == Function::Op::Number;
    height = leaf ? height + 1 : is_unary(instruction.op) ? height : height - 1;
    highest = std::max(highest, height);
  }
  return highest;
}

void Parser::parse_real_sum(Function& function, const std::vector<std::string>& arguments) {
  const NestingScope nesting(*this);
  parse_real_product(function, arguments);
  while (cursor_.is("+") || cursor_.is("-")) {
    const auto op = cursor_.next().text == "+" ? Function::Op::Add : Function::Op::Sub;
    parse_real_product(function, arguments);
    emit(function, op);
  }
}

void Parser::parse_real_product(Function& function, const std::vector<std::string>& arguments) {
  parse_real_factor(function, arguments);
  while (cursor_.is("*") || cursor_.is("/")) {
    const auto op = cursor_.next().text == "*" ? Function::Op::Mul : Function::Op::Div;
    parse_real_factor(function, arguments);
    emit(function, op);
  }
}

void Parser::parse_real_factor(Function& function, const std::vector<std::string>& arguments) {
  const Token token = cursor_.next();
  if (token.kind == Token::Kind::Number || token.kind == Token::Kind::Decimal) {
    function.program.push_back({Function::Op::Number, std::stod(token.text), 0, exact_number(token.text)});
    return;
  }
  if (token.text == "-") {
    const NestingScope nesting(*this);
    function.program.push_back({Function::Op::Number, 0, 0, Rational{0, 1}});
    parse_real_factor(function, arguments);
    emit(function, Function::Op::Sub);
    return;
  }
  if (token.text == "(") {
    parse_real_sum(function, arguments);
    cursor_.expect(")", "to close the parenthesis");
    return;
  }
  if (const auto found = std::ranges::find(arguments, token.text); found != arguments.end()) {
    function.program.push_back({Function::Op::Argument, 0, static_cast<std::uint32_t>(found - arguments.begin())});
    return;
  }
  struct Primitive {
    const char* name;
    Function::Op op;
    int arity;
  };
  using Op = Function::Op;
  static constexpr Primitive primitives[] = {{"max", Op::Max, 2},     {"min", Op::Min, 2},   {"less", Op::Less, 2},
                                             {"equal", Op::Equal, 2}, {"gate", Op::Gate, 2}, {"power", Op::Power, 2},
                                             {"exp", Op::Exp, 1},     {"log", Op::Log, 1},   {"sqrt", Op::Sqrt, 1},
                                             {"tanh", Op::Tanh, 1},   {"erf", Op::Erf, 1},   {"abs", Op::Abs, 1},
                                             {"floor", Op::Floor, 1}, {"sin", Op::Sin, 1},   {"cos", Op::Cos, 1},
                                             {"asin", Op::Asin, 1},   {"acos", Op::Acos, 1}, {"atan", Op::Atan, 1}};
  for (const Primitive& primitive : primitives) {
    if (token.text != primitive.name) continue;
    cursor_.expect("(", "after " + token.text);
    for (int i = 0; i < primitive.arity; ++i) {
      if (i > 0) cursor_.expect(",", "between arguments");
      parse_real_sum(function, arguments);
    }
    cursor_.expect(")", "after the arguments of " + token.text);
    emit(function, primitive.op);
    return;
  }
  cursor_.fail(
      token,
      "expected an argument of the function, a number, or one of max min less equal gate power exp log sqrt tanh "
      "erf abs floor sin cos asin acos atan, found " +
          quoted(token));
}

std::optional<Rational> Parser::exact_number(const std::string& text) {
  if (text.size() > 16) return std::nullopt;
  std::int64_t number = 0, scale = 1;
  bool fraction = false;
  for (const char c : text) {
    if (c == '.') {
      fraction = true;
      continue;
    }
    number = number * 10 + (c - '0');
    if (fraction) scale *= 10;
  }
  return make_rational(number, scale);
}

DeclaredLaw Parser::parse_law(Function& function, const std::vector<std::string>& arguments) {
  const Token start = cursor_.peek();
  DeclaredLaw law;
  law.place = place(cursor_.origin(), start.line, start.column);
  std::string left, right;
  std::string* side = &left;
  int depth = 0;
  constexpr std::size_t max_law_length = 1000;
  while (!cursor_.at_end() && left.size() + right.size() < max_law_length) {
    const bool goes_on = cursor_.is("(") || cursor_.is("*") || cursor_.is("/") || right.ends_with('*') ||
                         right.ends_with('/') || right.ends_with('-');
    if (depth == 0 && side == &right && !right.empty() && !goes_on) break;
    if (depth == 0 && cursor_.is("=")) {
      cursor_.next();
      side = &right;
      continue;
    }
    const Token token = cursor_.next();
    if (token.text == "(") ++depth;
    if (token.text == ")") --depth;
    *side += token.text;
  }
  const std::vector<LawForm> forms = law_forms(function.name, arguments);
  for (const LawForm& form : forms) {
    if (without_blanks(form.text) != left + "=" + right) continue;
    law.law = form.law;
    law.text = form.text;
    return law;
  }
  if (forms.empty()) cursor_.fail(start, "expected a law of a function with one or two arguments");
  std::string known;
  for (const LawForm& form : forms) known += (known.empty() ? "" : &form == &forms.back() ? " or " : ", ") + form.text;
  const std::string found = left.size() + right.size() < 200 ? "; found " + left + " = " + right : "";
  cursor_.fail(start, "a law must have the form " + known + found);
}

}  // namespace rulemill::algebra::syntax
