#include "check/sum_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "runtime/text/error.h"

namespace rulemill::check {

using Kind = Factor::Kind;
using runtime::InputError;

std::string Statement::text(const Factor& factor) const {
  std::string list;
  for (const Poly& poly : factor.index) list += (list.empty() ? "" : ", ") + atoms_.text(poly);
  if (factor.kind == Kind::Read) return rule_.variables.at(factor.symbol).name + "[" + list + "]";
  if (factor.kind == Kind::Inverse) return "1/(" + list + ")";
  if (factor.kind == Kind::Integer) return "(" + list + ")";
  for (const Sum& argument : factor.arguments) list += (list.empty() ? "" : ", ") + text(argument);
  if (factor.kind == Kind::Apply) return function(factor.symbol).name + "(" + list + ")";
  if (factor.kind == Kind::Defined) return "defined " + function(factor.symbol).name + "(" + list + ")";
  std::string range;
  for (const Atom atom : factor.bound) range += atoms_.text(Poly(atom)) + " ";
  for (const Guard& guard : factor.guards) range += "[" + atoms_.text(guard) + "] ";
  return "max{" + range + ": " + list + "}";
}

std::string Statement::text(const Product& product) const {
  std::string result = algebra::to_string(product.coefficient);
  for (const Atom atom : product.bound) result += (atom == product.bound[0] ? " sum " : " ") + atoms_.text(Poly(atom));
  for (const Guard& guard : product.guards) result += " [" + atoms_.text(guard) + "]";
  for (const Factor& factor : product.factors) result += " " + text(factor);
  return result;
}

std::string Statement::text(const Sum& sum) const {
  std::string result;
  for (const Product& product : sum) result += (result.empty() ? "" : " + ") + text(product);
  return sum.empty() ? "0" : result;
}

namespace {

/// sum := '0' | product {' + ' product};  product := rational ['sum' index {index}] {'[' guard ']'} {factor};
/// factor := variable '[' polys ']' | '1/(' poly ')' | '(' poly ')' | ['defined'] function '(' sums ')' |
/// 'max{' {index} {'[' guard ']'} ':' sum '}'
class SumReader {
 public:
  SumReader(std::string_view text, const std::string& place, const Statement& statement)
      : text_(text), place_(place), statement_(statement), atoms_(statement.atoms()) {}

  Sum read() {
    Sum result = sum(0);
    if (!text_.empty()) fail("the end");
    return result;
  }

 private:
  static constexpr int max_depth = 50;

  Sum sum(int depth) {
    if (depth > max_depth) throw InputError(place_, "sums are nested too deep");
    Sum result;
    do {
      Product product;
      product.coefficient = rational();
      if (take("sum ")) product.bound = indices();
      product.guards = guards();
      while (is_factor()) product.factors.push_back(factor(depth));
      if (product.coefficient.num != 0) result.push_back(std::move(product));
    } while (take("+ "));
    return result;
  }

  bool is_factor() {
    skip_blanks();
    const bool is_name = !text_.empty() && (std::isalpha(static_cast<unsigned char>(text_[0])) != 0 || text_[0] == '_');
    return is_name || text_.starts_with('(') || text_.starts_with("1/(");
  }

  Factor factor(int depth) {
    Factor result;
    if (take("1/(") || text_.starts_with('(')) {
      result.kind = take("(") ? Kind::Integer : Kind::Inverse;
      result.index = {parse_prefix(text_, place_, atoms_)};
      expect(")");
      return result;
    }
    if (take("max{")) {
      result.kind = Kind::Max;
      result.bound = indices();
      result.guards = guards();
      expect(":");
      result.arguments = {sum(depth + 1)};
      expect("}");
      return result;
    }
    result.kind = take("defined ") ? Kind::Defined : Kind::Apply;
    const auto end = std::ranges::find_if(text_, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
    const std::string name(text_.begin(), end);
    text_.remove_prefix(name.size());
    if (result.kind == Kind::Apply && take("[")) {
      result.kind = Kind::Read;
      const auto& variables = statement_.rule().variables;
      const auto found = std::ranges::find(variables, name, &CoreRule::Variable::name);
      if (found == variables.end()) fail("a variable of the rule");
      result.symbol = static_cast<std::uint32_t>(found - variables.begin());
      while (!take("]")) {
        result.index.push_back(parse_prefix(text_, place_, atoms_));
        if (!text_.starts_with(']')) expect(",");
      }
      return result;
    }
    const auto& functions = statement_.rule().functions;
    const auto found = std::ranges::find(functions, name, &algebra::Function::name);
    if (found == functions.end()) fail("a function");
    result.symbol = static_cast<std::uint32_t>(found - functions.begin());
    expect("(");
    do result.arguments.push_back(sum(depth + 1));
    while (take(","));
    expect(")");
    if (result.arguments.size() != found->arity) fail("another number of arguments");
    return result;
  }

  std::vector<Atom> indices() {
    std::vector<Atom> result;
    while (skip_blanks(), text_.starts_with('#')) {
      const auto atom = parse_prefix(text_, place_, atoms_).atom();
      if (!atom) fail("an index");
      result.push_back(*atom);
    }
    return result;
  }

  Guards guards() {
    Guards result;
    while (take("[")) {
      const std::size_t end = text_.find(']');
      if (end == std::string_view::npos) fail("a guard");
      result.push_back(parse_guard(text_.substr(0, end), place_, atoms_));
      text_.remove_prefix(end + 1);
    }
    return result;
  }

  Rational rational() {
    skip_blanks();
    Rational result{integer(), 1};
    if (text_.starts_with('/') && !text_.starts_with("/(")) {
      text_.remove_prefix(1);
      result = algebra::make_rational(result.num, integer());
    }
    return result;
  }

  std::int64_t integer() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) fail("a number");
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }

  void skip_blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size())); }
  bool take(std::string_view word) {
    skip_blanks();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  void expect(const char* word) {
    if (!take(word)) fail("'" + std::string(word) + "'");
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw InputError(place_, "expected " + expected + ", found " +
                                 (text_.empty() ? "the end" : "'" + std::string(text_.substr(0, 20)) + "'"));
  }

  std::string_view text_;
  const std::string& place_;
  const Statement& statement_;
  Atoms& atoms_;
};

}  // namespace

Sum parse_sum(std::string_view text, const std::string& place, const Statement& statement) {
  return SumReader(text, place, statement).read();
}

}  // namespace rulemill::check
