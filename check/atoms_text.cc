// Writes and reads polynomials as text. This is not trusted: a proof that is misread is checked like any other.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "check/kernel/atoms.h"
#include "runtime/text/error.h"

namespace rulemill::check {

using runtime::InputError;

std::string Atoms::text(const Poly& poly) const {
  std::string text;
  for (const Poly::Term& term : poly.terms()) {
    text += text.empty() ? (term.coefficient < 0 ? "-" : "") : term.coefficient < 0 ? " - " : " + ";
    const bool one = (term.coefficient == 1 || term.coefficient == -1) && !term.monomial.empty();
    std::string product = one ? "" : std::to_string(term.coefficient).substr(term.coefficient < 0 ? 1 : 0);
    for (const Atom atom : term.monomial) {
      static constexpr const char* words[] = {"", "", "", "div", "min", "max"};
      const Info& e = info(atom);
      if (!product.empty()) product += "*";
      product += is_compound(atom)
                     ? words[static_cast<int>(e.kind)] + ("(" + this->text(e.left)) + ", " + this->text(e.right) + ")"
                     : e.name;
    }
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
    return name == "div" ? atoms_.quotient(a, b) : name == "min" ? atoms_.minimum(a, b) : atoms_.maximum(a, b);
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

Poly Atoms::parse(std::string_view text, const std::string& place) { return PolyReader(text, place, *this).poly(); }

Guard Atoms::parse_guard(std::string_view text, const std::string& place) {
  for (const std::string_view ending : {" >= 0", " = 0"}) {
    if (text.ends_with(ending)) return {ending == " = 0", parse(text.substr(0, text.size() - ending.size()), place)};
  }
  throw InputError(place, "expected a polynomial and '= 0' or '>= 0'");
}

}  // namespace rulemill::check
