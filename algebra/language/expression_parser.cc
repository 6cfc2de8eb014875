// Parses index and scalar expressions.
#include "algebra/language/definition_parser.h"
#include "algebra/language/poly_parser.h"

namespace rulemill::algebra::syntax {

IndexPtr Parser::make_binary(Index::Kind kind, IndexPtr a, IndexPtr b, Place place) {
  Index index;
  index.kind = kind;
  index.place = place;
  index.a = std::move(a);
  index.b = std::move(b);
  return make_node(std::move(index));
}

IndexPtr Parser::parse_index() {
  const NestingScope nesting(*this);
  IndexPtr value = parse_index_sum();
  if (cursor_.is("if") && cursor_.is("=", 2) && cursor_.is("else", 4)) {
    Index index;
    index.kind = Index::Kind::If;
    index.place = here();
    index.predicate = parse_predicate();
    cursor_.expect("else", "after the parameter's value");
    index.a = std::move(value);
    index.b = parse_index();
    return make_node(std::move(index));
  }
  return value;
}

ParameterPredicate Parser::parse_predicate() {
  cursor_.expect("if", "before a condition on a parameter");
  ParameterPredicate predicate;
  predicate.parameter = cursor_.expect_name("a parameter's name");
  cursor_.expect("=", "after the parameter");
  if (cursor_.peek().kind == Token::Kind::Number)
    predicate.value = std::to_string(cursor_.expect_number("a value"));
  else
    predicate.value = cursor_.expect_name("one of the parameter's values");
  return predicate;
}

IndexPtr Parser::parse_index_sum() {
  IndexPtr value = parse_index_product();
  while (cursor_.is("+") || cursor_.is("-")) {
    const Place place = here();
    const auto kind = cursor_.next().text == "+" ? Index::Kind::Add : Index::Kind::Sub;
    value = make_binary(kind, value, parse_index_product(), place);
  }
  return value;
}

IndexPtr Parser::parse_index_product() {
  IndexPtr value = parse_index_factor();
  while (cursor_.is("*") || cursor_.is("/") || cursor_.is("//") || cursor_.is("%")) {
    const Place place = here();
    const std::string op = cursor_.next().text;
    const auto kind = op == "*"    ? Index::Kind::Mul
                      : op == "/"  ? Index::Kind::ExactDiv
                      : op == "//" ? Index::Kind::FloorDiv
                                   : Index::Kind::Mod;
    value = make_binary(kind, value, parse_index_factor(), place);
  }
  return value;
}

IndexPtr Parser::parse_index_factor() {
  const NestingScope nesting(*this);
  const Token token = cursor_.peek();
  Index index;
  index.place = here();
  if (token.kind == Token::Kind::Number) {
    index.number = cursor_.expect_number("a number");
    return std::make_shared<Index>(std::move(index));
  }
  if (cursor_.accept("(")) {
    IndexPtr inner = parse_index();
    cursor_.expect(")", "to close the parenthesis");
    return inner;
  }
  if (cursor_.accept("-"))
    return make_binary(Index::Kind::Sub, std::make_shared<Index>(), parse_index_factor(), index.place);
  if (token.kind != Token::Kind::Name) cursor_.fail(token, "expected an index expression, found " + quoted(token));
  return parse_named_index(cursor_.next(), std::move(index));
}

IndexPtr Parser::parse_named_index(const Token& token, Index index) {
  if ((token.text == "min" || token.text == "max") && cursor_.accept("(")) {
    IndexPtr a = parse_index();
    cursor_.expect(",", "between the operands of " + token.text);
    IndexPtr b = parse_index();
    cursor_.expect(")", "after the operands of " + token.text);
    return make_binary(token.text == "min" ? Index::Kind::Min : Index::Kind::Max, a, b, index.place);
  }
  if (token.text == "product" && cursor_.accept("(")) {
    index.kind = Index::Kind::Product;
    index.item = std::make_shared<IndexItem>(parse_index_item());
    cursor_.expect(")", "after the factors");
    return make_node(std::move(index));
  }
  if (token.text == "offset" && cursor_.accept("(")) {
    index.kind = Index::Kind::Offset;
    index.name = cursor_.expect_name("a pack of indices");
    cursor_.expect("...", "after the pack of indices");
    cursor_.expect(")", "after the pack of indices");
    return make_node(std::move(index));
  }
  index.name = token.text;
  index.kind = Index::Kind::Name;
  if (cursor_.is("(")) cursor_.fail(token, "expected an index expression, found a call of '" + token.text + "'");
  if (cursor_.accept("...")) {
    index.kind = Index::Kind::Pack;
  } else if (cursor_.accept("[")) {
    index.kind = Index::Kind::Element;
    index.a = parse_index();
    cursor_.expect("]", "after the position within '" + token.text + "'");
  }
  return make_node(std::move(index));
}

Comparison Parser::parse_comparison() {
  if (has_value_ahead()) {
    cursor_.fail(cursor_.peek(),
                 "a condition compares indices and sizes, found a value; choose values by a function, such as "
                 "function if_positive(a, b) = gate(less(0, a), b)");
  }
  Comparison comparison;
  comparison.a = parse_index();
  const ComparisonSign& sign = parse_comparison_sign(cursor_);
  comparison.relation = sign.relation;
  comparison.b = parse_index();
  if (sign.swapped) std::swap(comparison.a, comparison.b);
  return comparison;
}

/// Whether the token after a pack makes the pack part of an expression.
bool Parser::continues_expression(std::size_t ahead) const {
  static constexpr const char* operators[] = {"+", "-", "*", "/", "//", "%", "if"};
  return std::ranges::any_of(operators, [&](const char* symbol) { return cursor_.is(symbol, ahead); });
}

IndexItem Parser::parse_index_item() {
  IndexItem entry;
  entry.place = here();
  if (cursor_.peek().kind != Token::Kind::Name || !cursor_.is("...", 1) || continues_expression(2)) {
    entry.expression = parse_index();
    return entry;
  }
  entry.pack = cursor_.next().text;
  cursor_.next();
  auto change = [&](IndexItem::Change kind, const char* what) {
    entry.change = kind;
    entry.parameter = cursor_.expect_name(what);
  };
  if (cursor_.accept("[")) {
    change(IndexItem::Change::Gather, "a permutation parameter");
    cursor_.expect("]", "after the permutation");
  } else if (cursor_.accept("at")) {
    change(IndexItem::Change::Scatter, "a permutation parameter");
  } else if (cursor_.accept("only")) {
    change(IndexItem::Change::Keep, "an axis parameter");
  } else if (cursor_.accept("without")) {
    change(IndexItem::Change::Remove, "an axis parameter");
  } else if (cursor_.is("with") || cursor_.is("insert")) {
    const bool insert = cursor_.next().text == "insert";
    change(insert ? IndexItem::Change::Insert : IndexItem::Change::Replace, "an axis parameter");
    cursor_.expect(":", insert ? "after the axis that is new" : "after the axis that changes");
    entry.value = parse_index();
  } else if (cursor_.accept("of")) {
    entry.change = IndexItem::Change::Unravel;
    entry.value = parse_index();
  }
  return entry;
}

ScalarPtr Parser::scalar(Scalar::Kind kind, std::vector<ScalarPtr> operands, Place place) {
  Scalar node;
  node.kind = kind;
  node.place = place;
  node.operands = std::move(operands);
  return make_node(std::move(node));
}

ScalarPtr Parser::parse_scalar() {
  const NestingScope nesting(*this);
  ScalarPtr value = parse_scalar_sum();
  if (!cursor_.is("if")) return value;
  Scalar node;
  node.kind = Scalar::Kind::Case;
  node.place = here();
  cursor_.next();
  do node.guard.push_back(parse_comparison());
  while (cursor_.accept("and"));
  cursor_.expect("else", "after the condition");
  node.operands = {value, parse_scalar()};
  return make_node(std::move(node));
}

ScalarPtr Parser::parse_scalar_sum() {
  ScalarPtr value = parse_scalar_product();
  while (cursor_.is("+") || cursor_.is("-")) {
    const Place place = here();
    const auto kind = cursor_.next().text == "+" ? Scalar::Kind::Add : Scalar::Kind::Sub;
    value = scalar(kind, {value, parse_scalar_product()}, place);
  }
  return value;
}

bool Parser::has_value_ahead() const {
  const auto is_one_of = [](const std::string& name, std::initializer_list<const char*> names) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto is_tensor = [&](const std::string& name) {
    return std::ranges::find(operator_->inputs, name, &Input::name) != operator_->inputs.end() ||
           std::ranges::find(operator_->tensors, name, &Tensor::name) != operator_->tensors.end();
  };
  std::size_t open = 0;
  for (std::size_t ahead = 0;; ++ahead) {
    const Token& token = cursor_.peek(ahead);
    if (token.kind == Token::Kind::End) return false;
    if (token.kind == Token::Kind::Decimal) return true;
    const bool is_call = cursor_.is("(", ahead + 1), is_read = cursor_.is("[", ahead + 1);
    if (token.kind == Token::Kind::Name) {
      if (is_call && !is_one_of(token.text, {"min", "max", "product", "offset"})) return true;
      if (is_read && is_tensor(token.text)) return true;
      if (is_call || is_read) continue;
    }
    if (is_one_of(token.text, {"(", "["})) {
      ++open;
    } else if (is_one_of(token.text, {")", "]"})) {
      if (open == 0) return false;
      --open;
    }
    if (open == 0 && token.text != "-") return false;
  }
}

ScalarPtr Parser::parse_scalar_product() {
  ScalarPtr value = parse_scalar_factor();
  while (cursor_.is("*") || cursor_.is("/")) {
    const Place place = here();
    if (cursor_.next().text == "*") {
      value = scalar(Scalar::Kind::Mul, {value, parse_scalar_factor()}, place);
    } else {
      Scalar node;
      node.kind = Scalar::Kind::DivideBySize;
      node.place = place;
      if (has_value_ahead()) {
        cursor_.fail(cursor_.peek(),
                     "expected a size after '/', found a value: only sizes divide; multiply by "
                     "recip(…), where function recip(t) = 1 / t");
      }
      node.divisor = parse_index_factor();
      node.operands = {value};
      value = make_node(std::move(node));
    }
  }
  return value;
}

ScalarPtr Parser::parse_scalar_factor() {
  const NestingScope nesting(*this);
  const Token token = cursor_.peek();
  Scalar node;
  node.place = here();
  if (token.kind == Token::Kind::Number) {
    node.number = {cursor_.expect_number("a number"), 1};
    return std::make_shared<Scalar>(std::move(node));
  }
  if (token.kind == Token::Kind::Decimal) {
    const std::optional<Rational> exact = exact_number(token.text);
    if (!exact) cursor_.fail(token, "'" + token.text + "' has too many digits: expected at most 15");
    cursor_.next();
    node.number = *exact;
    return std::make_shared<Scalar>(std::move(node));
  }
  if (cursor_.accept("-"))
    return scalar(Scalar::Kind::Sub, {std::make_shared<Scalar>(), parse_scalar_factor()}, node.place);
  if (cursor_.accept("(")) {
    ScalarPtr inner = parse_scalar();
    cursor_.expect(")", "to close the parenthesis");
    return inner;
  }
  if (token.kind != Token::Kind::Name) cursor_.fail(token, "expected a value, found " + quoted(token));
  cursor_.next();
  const bool reduces = cursor_.is("(") && cursor_.peek(1).kind == Token::Kind::Name &&
                       (cursor_.is("<", 2) || (cursor_.is("...", 2) && cursor_.is("<", 3)));
  if (reduces) {
    if (token.text != "sum" && token.text != "max")
      cursor_.fail(token, "'" + token.text + "' is no reduction; known are sum and max");
    node.kind = token.text == "sum" ? Scalar::Kind::Sum : Scalar::Kind::Max;
    return parse_reduction(std::move(node));
  }
  node.name = token.text;
  if (cursor_.accept("[")) {
    node.kind = Scalar::Kind::Read;
    if (!cursor_.is("]")) {
      do node.indices.push_back(parse_index_item());
      while (cursor_.accept(","));
    }
    cursor_.expect("]", "after the indices of '" + node.name + "'");
    return std::make_shared<Scalar>(std::move(node));
  }
  if (cursor_.accept("(")) {
    node.kind = Scalar::Kind::Apply;
    do node.operands.push_back(parse_scalar());
    while (cursor_.accept(","));
    cursor_.expect(")", "after the arguments of '" + node.name + "'");
    return make_node(std::move(node));
  }
  cursor_.fail(
      token, "'" + token.text + "' is no value: expected a read " + token.text + "[…] or a call " + token.text + "(…)");
}

/// Parses "(i < m, j < n where …) product" after `sum` or `max`.
ScalarPtr Parser::parse_reduction(Scalar node) {
  cursor_.expect("(", "before the bound indices");
  do node.bound.push_back(parse_binding());
  while (cursor_.accept(","));
  if (node.kind == Scalar::Kind::Max && cursor_.accept("where")) {
    do node.guard.push_back(parse_comparison());
    while (cursor_.accept("and"));
  }
  cursor_.expect(")", "after the bound indices");
  node.operands = {parse_scalar_product()};
  return make_node(std::move(node));
}

/// An index and its extent: "i < m".
Binding Parser::parse_binding() {
  Binding index;
  index.place = here();
  index.name = cursor_.expect_name("an index");
  index.is_pack = cursor_.accept("...");
  cursor_.expect("<", "after the index '" + index.name + "', before its extent");
  index.extent = parse_index_item();
  return index;
}

ScalarPtr Parser::make_node(Scalar node) {
  for (const ScalarPtr& operand : node.operands) node.depth = std::max(node.depth, operand->depth + 1);
  return make_node<Scalar>(std::move(node), {});
}

IndexPtr Parser::make_node(Index index) {
  const IndexPtr a = index.a, b = index.b;
  return make_node<Index>(std::move(index), {&a, &b});
}

}  // namespace rulemill::algebra::syntax
