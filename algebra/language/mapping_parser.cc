// ONNX mappings.
#include "algebra/language/definition_parser.h"

namespace rulemill::algebra::syntax {

OnnxEntry Parser::parse_onnx_value() {
  OnnxEntry value;
  value.shape = cursor_.accept("shape");
  value.reals = cursor_.accept("reals");
  const Token token = cursor_.peek();
  if (cursor_.accept("kind")) {
    value.kind = true;
  } else if (token.kind == Token::Kind::String) {
    value.word = cursor_.next().text;
  } else if (token.kind == Token::Kind::Decimal) {
    value.number = std::stod(cursor_.next().text);
  } else if (cursor_.accept("[")) {
    value.is_list = true;
    if (!cursor_.is("]")) {
      do value.values.push_back(parse_entry());
      while (cursor_.accept(","));
    }
    cursor_.expect("]", "after the list");
  } else {
    value.values.push_back(parse_entry());
  }
  if (cursor_.accept("wrapped")) value.wrapped = parse_index();
  if (cursor_.accept("clamped")) value.clamped = parse_index();
  return value;
}

double Parser::parse_absent() {
  const bool negative = cursor_.accept("-");
  const bool decimal = cursor_.peek().kind == Token::Kind::Decimal;
  const double value =
      decimal ? std::stod(cursor_.next().text) : static_cast<double>(cursor_.number("what absence means"));
  return negative ? -value : value;
}

void Parser::parse_onnx_inputs(OnnxSyntax& onnx) {
  while (!cursor_.is(")")) {
    if (cursor_.accept("...")) {
      onnx.variadic = true;
    } else if (cursor_.accept("none")) {
      onnx.inputs.emplace_back("none", OnnxEntry{});
    } else if (cursor_.accept("const")) {
      onnx.inputs.emplace_back("", parse_onnx_value());
    } else {
      onnx.inputs.emplace_back(cursor_.name("an input of the operator"), OnnxEntry{});
    }
    if (!cursor_.accept(",")) break;
  }
  cursor_.expect(")", "after the ONNX inputs");
}

OnnxAttributeSyntax Parser::parse_onnx_attribute() {
  OnnxAttributeSyntax attribute;
  attribute.name = cursor_.name("an attribute's name");
  attribute.ignored = cursor_.accept("any");
  if (attribute.ignored) return attribute;
  cursor_.expect("=", "after the attribute's name");
  attribute.value = parse_onnx_value();
  if (!cursor_.accept("absent")) return attribute;
  if (cursor_.accept("any"))
    attribute.absent_any = true;
  else if (cursor_.peek().kind == Token::Kind::String)
    attribute.absent_word = cursor_.next().text;
  else
    attribute.absent = parse_absent();
  return attribute;
}

OnnxSyntax Parser::parse_onnx() {
  OnnxSyntax onnx;
  onnx.place = here();
  onnx.op_type = cursor_.name("an ONNX operator");
  if (cursor_.accept("(")) parse_onnx_inputs(onnx);
  while (true) {
    if (cursor_.accept("since")) {
      onnx.since = static_cast<int>(cursor_.number("an opset"));
    } else if (cursor_.accept("until")) {
      onnx.until = static_cast<int>(cursor_.number("an opset"));
    } else if (cursor_.accept("gives")) {
      cursor_.expect("...", "after 'gives'");
      onnx.variadic_outputs = true;
    } else if (cursor_.accept("with")) {
      const std::string name = cursor_.name("a size of the operator");
      cursor_.expect("=", "after the size");
      onnx.sizes.emplace_back(name, parse_index());
    } else if (cursor_.accept("then")) {
      onnx.wrapper = cursor_.name("a parameter that names a function");
    } else if (cursor_.is("if")) {
      onnx.choices.push_back(parse_choice());
    } else {
      break;
    }
  }
  if (cursor_.accept("{")) {
    while (!cursor_.is("}")) {
      onnx.attributes.push_back(parse_onnx_attribute());
      if (!cursor_.accept(",")) break;
    }
    cursor_.expect("}", "after the ONNX attributes");
  }
  return onnx;
}

}  // namespace rulemill::algebra::syntax
