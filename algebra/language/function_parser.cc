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
  if (arguments.size() > max_arguments)
    cursor_.fail(name,
                 "function '" + function.name + "' has more than " + std::to_string(max_arguments) + " arguments");
  function.arity = static_cast<std::uint32_t>(arguments.size());
  cursor_.expect("=", "before the function's definition");
  parse_real_sum(function, arguments);
  if (stack_depth(function) > Function::max_stack_depth)
    cursor_.fail(name, "function '" + function.name + "' is nested too deeply");
  while (cursor_.accept("law")) {
    if (cursor_.peek(1).text == ":")
      syntax.equations.push_back(parse_equation(function));
    else
      syntax.laws.push_back(parse_law(function, arguments));
  }
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

DeclaredEquation Parser::parse_equation(const Function& function) {
  static const std::vector<std::string> variables = {"s", "t", "r", "c"};
  const Token start = cursor_.peek();
  const std::size_t first = cursor_.position();
  DeclaredEquation equation;
  equation.function = function.name;
  equation.name = cursor_.expect_name("the name of a law");
  equation.place = place(cursor_.origin(), start.line, start.column);
  cursor_.expect(":", "after the name of the law");
  const auto side = [&] {
    Function formula;
    formula.arity = static_cast<std::uint32_t>(variables.size());
    parse_real_sum(formula, variables);
    if (stack_depth(formula) > Function::max_stack_depth) cursor_.fail(start, "a law is nested too deeply");
    return formula;
  };
  equation.left = side();
  cursor_.expect("=", "between the sides of the law");
  equation.right = side();
  if (cursor_.accept("when")) {
    do {
      Function condition = side();
      const bool is_domain = cursor_.accept("defined");
      if (!is_domain && (!cursor_.accept(">") || cursor_.next().text != "0"))
        cursor_.fail(start, "a condition of a law has the form a > 0, or a defined");
      (is_domain ? equation.defined : equation.positive).push_back(std::move(condition));
    } while (cursor_.accept(","));
  }
  equation.text = function.name + "." + text_since(first);
  equation.text.erase(equation.text.find_last_not_of(' ') + 1);
  std::vector<Function*> formulas = {&equation.left, &equation.right};
  for (auto* conditions : {&equation.positive, &equation.defined}) {
    for (Function& formula : *conditions) formulas.push_back(&formula);
  }
  std::uint32_t arity = 0;
  for (const Function* formula : formulas) {
    for (const Function::Instruction& node : formula->program) {
      if (node.op == Function::Op::Argument) arity = std::max(arity, node.argument + 1);
    }
  }
  for (Function* formula : formulas) formula->arity = arity;
  for (const auto& [from, to] : {std::pair(" : ", ": "), {"( ", "("}, {" (", "("}, {" )", ")"}, {" ,", ","}}) {
    for (std::size_t at = 0; (at = equation.text.find(from, at)) != std::string::npos;)
      equation.text.replace(at, std::string_view(from).size(), to);
  }
  return equation;
}

}  // namespace rulemill::algebra::syntax
