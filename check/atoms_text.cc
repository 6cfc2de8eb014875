// Writes and reads polynomials as text. This is not trusted: a proof that is misread is checked like any other.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "check/sum_text.h"
#include "runtime/text/error.h"

namespace rulemill::check {

using runtime::InputError;

/// Terms, factors and operands are in the order of their texts, so that the text does not depend on the order in which
/// atoms were made.
std::string Atoms::text(const Poly& poly) const {
  std::vector<std::tuple<std::size_t, std::string, std::int64_t>> terms;  // degree, product, coefficient
  for (const Poly::Term& term : poly.terms()) {
    std::vector<std::string> atoms;
    for (const Atom atom : term.monomial) {
      static constexpr const char* words[] = {"", "", "", "div", "min", "max"};
      const Info& e = info(atom);
      std::string left, right;
      if (is_compound(atom)) left = text(e.left), right = text(e.right);
      if (is_compound(atom) && e.kind != Kind::Quotient && right < left) std::swap(left, right);
      atoms.push_back(is_compound(atom) ? words[static_cast<int>(e.kind)] + ("(" + left + ", " + right + ")") : e.name);
    }
    std::ranges::sort(atoms);
    std::string product;
    for (const std::string& atom : atoms) product += (product.empty() ? "" : "*") + atom;
    terms.emplace_back(term.monomial.size(), std::move(product), term.coefficient);
  }
  std::ranges::sort(terms);
  std::string text;
  for (const auto& [degree, product, coefficient] : terms) {
    text += text.empty() ? (coefficient < 0 ? "-" : "") : coefficient < 0 ? " - " : " + ";
    const bool one = (coefficient == 1 || coefficient == -1) && degree > 0;
    if (!one) text += std::to_string(coefficient).substr(coefficient < 0 ? 1 : 0) + (degree > 0 ? "*" : "");
    text += product;
  }
  return text.empty() ? "0" : text;
}

namespace {

/// sum := ['-'] product {('+' | '-') product};  product := factor {'*' factor};
/// factor := number | name | '@' number | '#' number | ('div' | 'min' | 'max') '(' sum ',' sum ')'
class PolyReader {
 public:
  PolyReader(std::string_view text, const std::string& place, Atoms& atoms)
      : text_(text), place_(place), atoms_(atoms) {}

  Poly poly() {
    const Poly result = sum(0);
    if (!text_.empty()) fail();
    return result;
  }
  Poly prefix(std::string_view& rest) {
    const Poly result = sum(0);
    rest = text_;
    return result;
  }

 private:
  static constexpr int max_depth = 50;

  Poly sum(int depth) {
    if (depth > max_depth) throw InputError(place_, "divisions are nested too deep");
    Poly result = take('-') ? -product(depth) : product(depth);
    while (true) {
      if (take('+'))
        result += product(depth);
      else if (take('-'))
        result -= product(depth);
      else
        return result;
    }
  }

  Poly product(int depth) {
    Poly result = factor(depth);
    while (take('*')) result = result * factor(depth);
    return result;
  }

  Poly factor(int depth) {
    if (take('@')) return atoms_.output(static_cast<std::size_t>(number()));
    if (take('#')) return Poly(atoms_.bound(static_cast<std::size_t>(number())));
    if (!text_.empty() && std::isdigit(static_cast<unsigned char>(text_[0])) != 0) return number();
    const auto end = std::ranges::find_if(text_, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
    const std::string name(text_.begin(), end);
    if (name.empty()) fail();
    text_.remove_prefix(name.size());
    const bool call = (name == "div" || name == "min" || name == "max") && take('(');
    if (!call) return atoms_.size(name);
    const Poly a = sum(depth + 1);
    if (!take(',')) fail();
    const Poly b = sum(depth + 1);
    if (!take(')')) fail();
    return name == "div" ? atoms_.floor_div(a, b) : name == "min" ? atoms_.min(a, b) : atoms_.max(a, b);
  }

  std::int64_t number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) fail();
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }

  bool take(char c) {
    while (text_.starts_with(' ')) text_.remove_prefix(1);
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    while (text_.starts_with(' ')) text_.remove_prefix(1);
    return true;
  }

  [[noreturn]] void fail() const {
    const std::string found = text_.empty() ? "the end" : "'" + std::string(text_.substr(0, 20)) + "'";
    throw InputError(place_, "expected a polynomial, found " + found);
  }

  std::string_view text_;
  const std::string& place_;
  Atoms& atoms_;
};

}  // namespace

Poly parse_poly(std::string_view text, const std::string& place, Atoms& atoms) {
  return PolyReader(text, place, atoms).poly();
}

Poly parse_prefix(std::string_view& text, const std::string& place, Atoms& atoms) {
  return PolyReader(text, place, atoms).prefix(text);
}

Guard parse_guard(std::string_view text, const std::string& place, Atoms& atoms) {
  for (const std::string_view ending : {" >= 0", " = 0"}) {
    if (text.ends_with(ending))
      return {ending == " = 0", parse_poly(text.substr(0, text.size() - ending.size()), place, atoms)};
  }
  throw InputError(place, "expected a polynomial and '= 0' or '>= 0'");
}

}  // namespace rulemill::check
