// Parses ONNX mappings.
#include "algebra/language/definition_parser.h"
#include "algebra/operators/aten_domain.h"

namespace rulemill::algebra::syntax {

OnnxValueSyntax Parser::parse_onnx_value() {
  OnnxValueSyntax value;
  value.is_reshape_shape = cursor_.accept("shape");
  value.as_float32 = cursor_.accept("reals");
  const Token token = cursor_.peek();
  if (cursor_.accept("kind")) {
    value.is_data_type = true;
  } else if (token.kind == Token::Kind::String) {
    value.string_value = cursor_.next().text;
  } else if (cursor_.peek(token.text == "-" ? 1 : 0).kind == Token::Kind::Decimal) {
    value.float_value = parse_number();
  } else if (cursor_.accept("[")) {
    value.is_list = true;
    if (!cursor_.is("]")) {
      do value.values.push_back(parse_index_item());
      while (cursor_.accept(","));
    }
    cursor_.expect("]", "after the list");
  } else {
    value.values.push_back(parse_index_item());
  }
  if (cursor_.accept("wrapped")) value.wrap_size = parse_index();
  if (cursor_.accept("clamped")) value.clamp_size = parse_index();
  return value;
}

double Parser::parse_number() {
  const bool negative = cursor_.accept("-");
  const bool decimal = cursor_.peek().kind == Token::Kind::Decimal;
  const double value =
      decimal ? std::stod(cursor_.next().text) : static_cast<double>(cursor_.expect_number("a number"));
  return negative ? -value : value;
}

void Parser::parse_onnx_inputs(OnnxMappingSyntax& onnx) {
  while (!cursor_.is(")")) {
    if (cursor_.accept("..."))
      onnx.variadic = true;
    else if (cursor_.accept("none"))
      onnx.inputs.emplace_back("none", OnnxValueSyntax{});
    else if (cursor_.accept("const"))
      onnx.inputs.emplace_back("", parse_onnx_value());
    else
      onnx.inputs.emplace_back(cursor_.expect_name("an input of the operator"), OnnxValueSyntax{});
    if (!cursor_.accept(",")) break;
  }
  cursor_.expect(")", "after the ONNX inputs");
}

OnnxAttributeSyntax Parser::parse_onnx_attribute() {
  OnnxAttributeSyntax attribute;
  attribute.name = cursor_.expect_name("an attribute's name");
  attribute.ignored = cursor_.accept("any");
  if (attribute.ignored) return attribute;
  cursor_.expect("=", "after the attribute's name");
  attribute.value = parse_onnx_value();
  attribute.is_optional = cursor_.accept("optional");
  if (attribute.is_optional || !cursor_.accept("default")) return attribute;
  if (cursor_.peek().kind == Token::Kind::String)
    attribute.default_string = cursor_.next().text;
  else
    attribute.default_number = parse_number();
  return attribute;
}

std::string Parser::parse_domain() {
  const Token token = cursor_.next();
  if (token.kind != Token::Kind::String || token.text.empty())
    cursor_.fail(token, "expected the domain's name in quotes, such as \"com.microsoft\"");
  return token.text;
}

OnnxMappingSyntax Parser::parse_onnx() {
  OnnxMappingSyntax onnx;
  const bool is_aten = cursor_.next().text == aten_domain;
  onnx.place = here();
  onnx.op_type = cursor_.expect_name(is_aten ? "an operator of ATen" : "an ONNX operator");
  if (is_aten) {
    cursor_.expect(".", "after the operator of ATen, before its overload");
    onnx.op_type += "." + cursor_.expect_name("an overload of the operator");
    onnx.domain = aten_domain;
  }
  if (cursor_.accept("(")) parse_onnx_inputs(onnx);
  while (true) {
    if (cursor_.accept("since")) {
      onnx.since = static_cast<int>(cursor_.expect_number("an opset"));
    } else if (cursor_.accept("until")) {
      onnx.until = static_cast<int>(cursor_.expect_number("an opset"));
    } else if (cursor_.accept("outputs")) {
      cursor_.expect("...", "after 'outputs'");
      onnx.variadic_outputs = true;
    } else if (cursor_.accept("with")) {
      const std::string name = cursor_.expect_name("'activation' or a size of the operator");
      if (name == "activation" && !cursor_.is("=")) {
        onnx.activation = cursor_.expect_name("a parameter that names a function");
      } else {
        cursor_.expect("=", "after the size");
        onnx.computed_sizes.emplace_back(name, parse_index());
      }
    } else if (cursor_.is("if")) {
      onnx.predicates.push_back(parse_predicate());
    } else {
      break;
    }
  }
  if (cursor_.accept("{")) {
    while (!cursor_.is("}")) {
      if (cursor_.accept("domain")) {
        cursor_.expect("=", "after 'domain'");
        onnx.domain = parse_domain();
      } else {
        onnx.attributes.push_back(parse_onnx_attribute());
      }
      if (!cursor_.accept(",")) break;
    }
    cursor_.expect("}", "after the ONNX attributes");
  }
  return onnx;
}

}  // namespace rulemill::algebra::syntax
