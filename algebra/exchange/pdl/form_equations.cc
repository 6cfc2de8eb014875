#include "algebra/exchange/pdl/form_equations.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "algebra/language/poly_parser.h"

namespace rulemill::algebra {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// dense<7> : tensor<2x2xi64> has the items [[7, 7], [7, 7]].
std::string with_items(const std::string& text) {
  const std::string head = "dense<", middle = "> : tensor<", tail = "xi64>";
  const std::size_t end = text.find(middle);
  if (!text.starts_with(head) || text[head.size()] == '[' || end == std::string::npos || !text.ends_with(tail))
    return text;
  const std::string shape = text.substr(end + middle.size(), text.size() - tail.size() - end - middle.size());
  std::string item = text.substr(head.size(), end - head.size());
  std::vector<std::size_t> counts;
  for (std::size_t at = 0; at < shape.size();) {
    std::size_t count = 0;
    for (; at < shape.size() && is_digit(shape[at]) && count < 100; ++at)
      count = 10 * count + static_cast<std::size_t>(shape[at] - '0');
    counts.push_back(count);
    if (at++ < shape.size() && shape[at - 1] != 'x') return text;
  }
  if (counts.empty() || counts.size() > 2) return text;
  for (const std::size_t count : {counts.back(), counts.size() == 2 ? counts[0] : std::size_t{0}}) {
    std::string list;
    for (std::size_t i = 0; i < count && i < 100; ++i) list += (i == 0 ? "" : ", ") + item;
    if (!list.empty()) item = "[" + list + "]";
  }
  return head + item + text.substr(end);
}

/// Returns the text without the entries of #stablehlo.dot<...> that are empty lists, which MLIR leaves out.
std::string without_empty_lists(std::string text) {
  for (std::size_t at = 0; (at = text.find(" = []")) != std::string::npos;) {
    std::size_t begin = at, end = at + 5;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 || text[begin - 1] == '_'))
      --begin;
    if (text.substr(end, 2) == ", ") {
      end += 2;
    } else if (begin >= 2 && text.substr(begin - 2, 2) == ", ") {
      begin -= 2;
    }
    text.erase(begin, end - begin);
  }
  replace_all(text, "array<i64: >", "array<i64>");
  return text;
}

/// A number, {an expression}, or another character.
std::vector<std::string> tokens_of(const std::string& given) {
  const std::string text = without_empty_lists(with_items(given));
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (text[at] == '{') {
      end = std::min(text.find('}', at), text.size() - 1) + 1;
    } else if (is_digit(text[at]) || (text[at] == '-' && end < text.size() && is_digit(text[end]))) {
      while (end < text.size() && is_digit(text[end])) ++end;
    }
    if (text[at] != ' ') tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

/// The value of a token that is a number or an expression.
std::optional<Poly> number_of(const std::string& token, Symbols& symbols) {
  if (token.size() > 1 && token[0] == '{') return parse_python_size(token.substr(1, token.size() - 2), "", symbols);
  if (!is_digit(token.back()) || token.size() > 18) return std::nullopt;
  return Poly(std::stoll(token));
}

}  // namespace

bool is_neutral(const std::string& name, const std::string& text) {
  if (name == "precision_config")
    return text.find("HIGH") == std::string::npos && text.find("PACKED") == std::string::npos;
  if (name == "result_accuracy") return text.find("DEFAULT") != std::string::npos;
  if (name == "window_reversal") return text.find("true") == std::string::npos;
  return name == "compare_type" && text == "#stablehlo<comparison_type FLOAT>";
}

std::optional<std::vector<std::int64_t>> numbers_of(const std::string& text) {
  if (text == "array<i64>") return std::vector<std::int64_t>();
  const std::string head = "array<i64: ";
  if (!text.starts_with(head) || !text.ends_with(">")) return std::nullopt;
  std::vector<std::int64_t> result;
  std::string digits;
  for (const char c : text.substr(head.size())) {
    if (c >= '0' && c <= '9' && digits.size() < 9) {
      digits += c;
    } else if (c == ',' || c == '>') {
      if (digits.empty()) return std::nullopt;
      result.push_back(std::stoll(std::exchange(digits, "")));
    } else if (c != ' ') {
      return std::nullopt;
    }
  }
  return result;
}

Poly parse_python_size(const std::string& text, const std::string& place, Symbols& symbols) {
  std::string sizes = text;
  replace_all(sizes, "smaller(", "min(");
  replace_all(sizes, "larger(", "max(");
  return parse_poly(sizes, place, symbols);
}

Poly FormEquations::unknown() {
  unknowns_.push_back(symbols_.size("__unknown_" + std::to_string(unknowns_.size() + 1)));
  return Poly(unknowns_.back());
}

bool FormEquations::equate(const std::string& a, const std::string& b) {
  const std::vector<std::string> left = tokens_of(a), right = tokens_of(b);
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i]) continue;
    const std::optional<Poly> x = number_of(left[i], symbols_), y = number_of(right[i], symbols_);
    if (!x || !y) return false;
    equate(*x, *y);
  }
  return true;
}

bool FormEquations::solve() {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    std::vector<Poly> left;
    for (const Poly& equation : std::exchange(open_, {})) {
      const Poly rest = symbols_.substitute(equation, solved_);
      std::vector<Atom> unknown = symbols_.atoms(rest);
      std::erase_if(unknown, [&](Atom atom) { return std::ranges::find(unknowns_, atom) == unknowns_.end(); });
      if (unknown.empty()) {
        if (!rest.is_zero()) return false;
        continue;
      }
      if (unknown.size() > 1) {
        left.push_back(rest);
        continue;
      }
      const std::vector<Poly> coefficients = rest.coefficients_in(unknown[0]);
      if (coefficients.size() != 2 || symbols_.contains(coefficients[0], unknown[0]) || !coefficients[1].constant())
        return false;
      const auto value = coefficients[0].is_zero()
                             ? std::optional(Poly())
                             : coefficients[0].divided_by(Poly::Term{Monomial(), -*coefficients[1].constant()});
      if (!value) return false;
      solved_[unknown[0]] = *value;
      goes_on = true;
    }
    open_ = std::move(left);
  }
  return open_.empty();
}

std::optional<Poly> FormEquations::value(const Poly& poly) {
  const Poly result = symbols_.substitute(poly, solved_);
  for (const Atom atom : symbols_.atoms(result)) {
    if (std::ranges::find(unknowns_, atom) != unknowns_.end()) return std::nullopt;
  }
  return result;
}

}  // namespace rulemill::algebra
