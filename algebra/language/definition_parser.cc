// Parses operators: inputs, parameters, clauses.
#include "algebra/language/definition_parser.h"

namespace rulemill::algebra::syntax {

Definitions Parser::parse() {
  Definitions definitions;
  definitions.origin = cursor_.origin();
  while (!cursor_.at_end()) {
    const std::size_t start = cursor_.position();
    if (cursor_.accept("include")) {
      const Token folder = cursor_.next();
      if (folder.kind != Token::Kind::String)
        cursor_.fail(folder, "expected a folder of definitions in quotes, found " + quoted(folder));
      definitions.includes.push_back({folder.text, place(cursor_.origin(), folder.line, folder.column)});
    } else if (cursor_.accept("operator")) {
      Operator op = parse_operator();
      op.text = text_since(start);
      definitions.operators.push_back(std::move(op));
    } else if (cursor_.accept("function")) {
      definitions.functions.push_back(parse_function());
      definitions.functions.back().text = text_since(start);
    } else {
      cursor_.fail(cursor_.peek(), "expected 'operator', 'function' or 'include', found " + quoted(cursor_.peek()));
    }
  }
  return definitions;
}

std::string Parser::text_since(std::size_t start) {
  const std::size_t end = cursor_.position();
  std::string text;
  cursor_.rewind(start);
  auto skipped = onnx_tokens_.begin();
  while (cursor_.position() < end) {
    if (skipped != onnx_tokens_.end() && skipped->first == cursor_.position())
      cursor_.rewind((skipped++)->second);
    else
      text += cursor_.next().text + " ";
  }
  cursor_.rewind(end);
  onnx_tokens_.clear();
  return text;
}

Operator Parser::parse_operator() {
  Operator op;
  operator_ = &op;
  op.place = here();
  op.origin = cursor_.origin();
  op.name = cursor_.expect_name("an operator's name");
  cursor_.expect("(", "after the operator's name");
  if (!cursor_.is(")") && !cursor_.is(";")) {
    do op.inputs.push_back(parse_input());
    while (cursor_.accept(","));
  }
  if (cursor_.accept(";")) {
    do op.parameters.push_back(parse_parameter());
    while (cursor_.accept(","));
  }
  cursor_.expect(")", "after the operator's inputs and parameters");
  if (cursor_.accept("is")) op.composite = parse_call(op);
  while (!cursor_.at_end() && !cursor_.is("operator") && !cursor_.is("function")) parse_clause(op);
  if (op.outputs.empty() && !op.composite) cursor_.fail(cursor_.peek(), "operator '" + op.name + "' defines no output");
  return op;
}

Input Parser::parse_input() {
  Input input;
  input.place = here();
  input.name = cursor_.expect_name("an input's name");
  cursor_.expect("[", "after the input's name");
  while (!cursor_.is("]")) {
    InputDim dim;
    dim.place = here();
    if (cursor_.peek().kind == Token::Kind::Number) {
      dim.number = cursor_.expect_number("a dimension");
    } else {
      dim.name = cursor_.expect_name("a dimension's name");
      dim.is_pack = cursor_.accept("...");
      if (dim.is_pack && cursor_.accept("by")) dim.spread = cursor_.expect_name("a parameter of kind spread");
    }
    input.dims.push_back(std::move(dim));
    if (!cursor_.accept(",")) break;
  }
  cursor_.expect("]", "after the dimensions of '" + input.name + "'");
  const Token kind = cursor_.peek();
  input.scalar_kind = parse_scalar_kind();
  if (input.scalar_kind == ScalarKind::Positive)
    cursor_.fail(kind, "an input may not be declared positive; only an output, or a variable of a rule");
  return input;
}

/// `of bool`, `of int`, `of positive`, or nothing for Real.
ScalarKind Parser::parse_scalar_kind() {
  if (!cursor_.accept("of")) return ScalarKind::Real;
  const Token token = cursor_.peek();
  if (cursor_.accept("bool")) return ScalarKind::Bool;
  if (cursor_.accept("int")) return ScalarKind::Int;
  if (cursor_.accept("positive")) return ScalarKind::Positive;
  cursor_.fail(token, "expected bool, int or positive, found " + quoted(token));
}

Parameter Parser::parse_parameter() {
  Parameter parameter;
  parameter.place = here();
  parameter.name = cursor_.expect_name("a parameter's name");
  const bool pack = cursor_.accept("...");
  if (!pack && cursor_.accept("[")) {
    parameter.pack = cursor_.expect_name("a pack of dimensions");
    cursor_.expect("...", "after the pack of dimensions");
    cursor_.expect("]", "after the pack of dimensions");
  }
  if (cursor_.accept("<")) {
    cursor_.expect("rank", "after '<'");
    parameter.kind = Parameter::Kind::Axis;
  } else if (cursor_.accept("in")) {
    parse_domain(parameter);
  } else {
    parse_kind(parameter);
  }
  if (pack != (parameter.kind == Parameter::Kind::Sizes))
    cursor_.fail(cursor_.peek(), "a pack of sizes is written name... : sizes");
  if (!parameter.pack.empty()) {
    if (parameter.kind != Parameter::Kind::Int || !parameter.int_values.empty())
      cursor_.fail(cursor_.peek(), "'" + parameter.name + "' is a list: expected name[pack...]: int");
    parameter.kind = Parameter::Kind::Ints;
  }
  if (cursor_.accept("=")) {
    if (cursor_.peek().kind == Token::Kind::Number)
      parameter.default_value = cursor_.expect_number("a default");
    else
      parameter.default_value = cursor_.expect_name("a default");
  }
  return parameter;
}

/// { enum values } or { numbers }; the first is the default.
void Parser::parse_domain(Parameter& parameter) {
  cursor_.expect("{", "before the parameter's values");
  do {
    if (cursor_.peek().kind == Token::Kind::Number)
      parameter.int_values.push_back(cursor_.expect_number("a value"));
    else
      parameter.enum_values.push_back(cursor_.expect_name("a value"));
  } while (cursor_.accept(","));
  cursor_.expect("}", "after the parameter's values");
  if (!parameter.enum_values.empty() && !parameter.int_values.empty())
    cursor_.fail(cursor_.peek(), "the values of '" + parameter.name + "' mix names and numbers");
  parameter.kind = parameter.enum_values.empty() ? Parameter::Kind::Int : Parameter::Kind::Enum;
  if (parameter.enum_values.empty())
    parameter.default_value = parameter.int_values.front();
  else
    parameter.default_value = parameter.enum_values.front();
}

void Parser::parse_kind(Parameter& parameter) {
  using Kind = Parameter::Kind;
  cursor_.expect(":", "after the parameter's name");
  const Token token = cursor_.peek();
  const std::string kind = cursor_.expect_name("a parameter's kind");
  const bool is_new = kind == "new" && cursor_.accept("axes");
  static const std::map<std::string, Kind> kinds = {{"size", Kind::Size}, {"sizes", Kind::Sizes},
                                                    {"int", Kind::Int},   {"permutation", Kind::Permutation},
                                                    {"axes", Kind::Axes}, {"spread", Kind::Spread}};
  const auto found = kinds.find(kind);
  if (found == kinds.end() && !is_new) {
    cursor_.fail(token, "expected size, sizes, int, axes, new axes, permutation or spread, found '" + kind +
                            "'; a real number is an input without dimensions: " + parameter.name + "[]");
  }
  parameter.kind = is_new ? Kind::NewAxes : found->second;
  if (parameter.kind == Kind::Spread) parameter.default_value = std::vector<std::int64_t>();
}

void Parser::parse_clause(Operator& op) {
  const Token token = cursor_.peek();
  if (cursor_.accept("commutative")) {
    op.commutative = true;
  } else if (cursor_.accept("where")) {
    do op.conditions.push_back(parse_condition());
    while (cursor_.accept(","));
  } else if (cursor_.accept("let")) {
    do op.lets.push_back(parse_let());
    while (cursor_.accept(","));
  } else if (cursor_.accept("tensor")) {
    op.tensors.push_back(parse_tensor());
  } else if (const std::size_t start = cursor_.position(); cursor_.is("onnx") || cursor_.is("aten")) {
    op.onnx.push_back(parse_onnx());
    onnx_tokens_.emplace_back(start, cursor_.position());
  } else if (token.kind == Token::Kind::Name && cursor_.is("[", 1)) {
    for (const Tensor& other : op.outputs) {
      if (other.name == token.text) cursor_.fail(token, "two outputs are called " + quoted(token));
    }
    op.outputs.push_back(parse_tensor());
  } else {
    cursor_.fail(token, "expected where, let, tensor, commutative, onnx, aten or an output 'name[…] = …', found " +
                            quoted(token));
  }
}

Let Parser::parse_let() {
  Let let;
  let.place = here();
  let.name = cursor_.expect_name("a name");
  let.is_pack = cursor_.accept("...");
  cursor_.expect("=", "after the name");
  let.value = parse_index_item();
  return let;
}

Condition Parser::parse_condition() {
  Condition condition;
  condition.place = here();
  if (cursor_.peek().kind == Token::Kind::Name && cursor_.is("=", 1) && cursor_.is("except", 3)) {
    condition.except_left = cursor_.next().text;
    cursor_.next();
    condition.except_right = cursor_.expect_name("a pack of dimensions");
    cursor_.next();
    condition.except_axis = cursor_.expect_name("an axis parameter");
    return condition;
  }
  condition.comparison = parse_comparison();
  if (cursor_.is("if")) condition.predicate = parse_predicate();
  return condition;
}

Tensor Parser::parse_tensor() {
  Tensor tensor;
  tensor.place = here();
  tensor.name = cursor_.expect_name("a tensor's name");
  cursor_.expect("[", "after '" + tensor.name + "'");
  while (!cursor_.is("]")) {
    Binding index;
    index.place = here();
    index.name = cursor_.expect_name("an index");
    index.is_pack = cursor_.accept("...");
    cursor_.expect("<", "after the index '" + index.name + "', before its extent");
    index.extent = parse_index_item();
    tensor.indices.push_back(std::move(index));
    if (!cursor_.accept(",")) break;
  }
  cursor_.expect("]", "after the indices of '" + tensor.name + "'");
  tensor.scalar_kind = parse_scalar_kind();
  cursor_.expect("=", "before the value of '" + tensor.name + "'");
  tensor.body = parse_scalar();
  return tensor;
}

std::shared_ptr<const Call> Parser::parse_call(const Operator& op) {
  const NestingScope nesting(*this);
  Call call;
  call.place = here();
  call.name = cursor_.expect_name("an operator or an input");
  if (!cursor_.accept("(")) {
    call.is_input = true;
    return std::make_shared<Call>(std::move(call));
  }
  if (!cursor_.is(")") && !cursor_.is(";")) {
    do call.arguments.push_back(parse_call(op));
    while (cursor_.accept(","));
  }
  if (cursor_.accept(";")) {
    do {
      const std::string name = cursor_.expect_name("a parameter's name");
      cursor_.expect("=", "after the parameter's name");
      call.parameters.emplace_back(name, parse_index());
    } while (cursor_.accept(","));
  }
  cursor_.expect(")", "after the arguments of '" + call.name + "'");
  return std::make_shared<Call>(std::move(call));
}

Definitions parse(std::string_view text, const std::string& origin) { return Parser(text, origin).parse(); }

}  // namespace rulemill::algebra::syntax
