// A recursive-descent parser.
#include "algebra/language/poly_parser.h"

#include <algorithm>

#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

constexpr std::size_t max_terms = 1000;
constexpr int max_nesting_depth = 100;  // nested parentheses and functions

class PolyParser {
 public:
  PolyParser(TokenCursor& cursor, Symbols& symbols) : cursor_(cursor), symbols_(symbols) {}

  Poly sum() {
    if (++depth_ > max_nesting_depth) cursor_.fail(cursor_.peek(), "a size expression nested too deeply");
    Poly result = cursor_.accept("-") ? -product() : product();
    while (cursor_.is("+") || cursor_.is("-")) {
      const bool adds = cursor_.next().text == "+";
      result += adds ? product() : -product();
    }
    --depth_;
    return result;
  }

 private:
  Poly product() {
    Poly result = factor();
    while (cursor_.accept("*")) {
      result = result * factor();
      if (result.terms().size() > max_terms) cursor_.fail(cursor_.peek(), "a size expression with too many terms");
    }
    return result;
  }

  Poly factor() {
    const Token token = cursor_.peek();
    if (token.kind == Token::Kind::Number) return Poly(cursor_.expect_number("a number"));
    if (cursor_.accept("(")) {
      Poly result = sum();
      cursor_.expect(")", "after a size expression");
      return result;
    }
    const std::string name = cursor_.expect_name("a size, a number or (");
    if (cursor_.is("(")) return function(name, token);
    return Poly(symbols_.size(name));
  }

  Poly function(const std::string& name, const Token& at) {
    cursor_.expect("(", "after " + name);
    const Poly a = sum();
    cursor_.expect(",", "after the first operand");
    const Poly b = sum();
    cursor_.expect(")", "after the second operand");
    if (name == "min") return symbols_.min(a, b);
    if (name == "max") return symbols_.max(a, b);
    if (name != "div" && name != "mod")
      cursor_.fail(at, "unknown function '" + name + "', expected div, mod, min or max");
    if (b.is_zero()) cursor_.fail(at, "division by zero");
    return name == "div" ? symbols_.floor_div(a, b) : symbols_.mod(a, b);
  }

  TokenCursor& cursor_;
  Symbols& symbols_;
  int depth_ = 0;
};

}  // namespace

Poly parse_poly(TokenCursor& cursor, Symbols& symbols) {
  const Token start = cursor.peek();
  try {
    return PolyParser(cursor, symbols).sum();
  } catch (const Overflow& overflow) {
    cursor.fail(start, overflow.what());
  }
}

Poly parse_poly(std::string_view text, const std::string& origin, Symbols& symbols) {
  TokenCursor cursor(text, origin);
  Poly result = parse_poly(cursor, symbols);
  if (!cursor.at_end()) cursor.fail(cursor.peek(), "expected an operator or the end, found " + quoted(cursor.peek()));
  return result;
}

const ComparisonSign& parse_comparison_sign(TokenCursor& cursor) {
  static constexpr ComparisonSign signs[] = {{"=", Relation::Eq},       {"!=", Relation::Ne},
                                             {"<", Relation::Lt},       {"<=", Relation::Le},
                                             {">", Relation::Lt, true}, {">=", Relation::Le, true}};
  const Token token = cursor.next();
  const auto* sign = std::ranges::find(signs, token.text, &ComparisonSign::text);
  if (sign == std::end(signs)) cursor.fail(token, "expected one of = != < <= > >=, found " + quoted(token));
  return *sign;
}

}  // namespace rulemill::algebra
