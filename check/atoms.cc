#include "check/atoms.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>

#include "algebra/sizes/checked.h"
#include "runtime/error.h"

namespace rulemill::check {

using algebra::Symbols;
using runtime::InputError;

namespace {

bool is_identifier(std::string_view name) {
  const auto inside = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 && std::ranges::all_of(name, inside);
}

std::int64_t floor_of(std::int64_t a, std::int64_t b) {  // b ≥ 1
  return a >= 0 ? a / b : -((-(a + 1)) / b) - 1;
}

/// What a long division takes of a coefficient: rounded down, or by a negative leading one only if nothing is left.
std::int64_t whole_part(std::int64_t coefficient, std::int64_t leading) {
  if (leading > 0) return floor_of(coefficient, leading);
  const std::int64_t by = algebra::checked_multiply(leading, -1);
  return coefficient % by == 0 ? algebra::checked_multiply(floor_of(coefficient, by), -1) : 0;
}

}  // namespace

Atom Atoms::named(Kind kind, const std::string& name) {
  const auto [found, is_new] = by_name_.try_emplace(name, static_cast<Atom>(entries_.size()));
  if (is_new) entries_.push_back({kind, name, {}, {}});
  return found->second;
}

Poly Atoms::size(const std::string& name) {
  if (!is_identifier(name)) throw InputError("size", "its name is no identifier");
  return Poly(named(Kind::Size, name));
}

Poly Atoms::compound(Kind kind, const Poly& left, const Poly& right) {
  const auto [found, is_new] = compounds_.try_emplace({kind, left, right}, static_cast<Atom>(entries_.size()));
  if (is_new) entries_.push_back({kind, {}, left, right});
  return Poly(found->second);
}

Poly Atoms::extremum(Kind kind, const Poly& a, const Poly& b) {
  if (a == b) return a;
  return a < b ? compound(kind, a, b) : compound(kind, b, a);
}

/// For d ≥ 1 and any e:  floor((d·e + r) / d) = e + floor(r / d),  floor(c·r / (c·d)) = floor(r / d) for c ≥ 1,
/// floor(floor(x / a) / d) = floor(x / (a·d)) for a ≥ 1,  floor(r / d) = 0 for 0 ≤ r < d,  and −1 for −d ≤ r < 0.
Poly Atoms::quotient(Poly n, Poly d) {
  divides(d);
  if (d.is_zero()) throw InputError("floor division", "by zero");
  if (d == Poly(1)) return n;
  // A common factor c: a number or sizes.
  Poly::Term common{{}, std::gcd(n.content().coefficient, d.content().coefficient)};
  Monomial rest = n.content().monomial;
  for (const Atom atom : d.content().monomial) {
    if (kind(atom) == Kind::Size && rest.remove(atom)) common.monomial.push_back(atom);
  }
  if (n.is_zero()) return n;
  if (common.coefficient > 1 || !common.monomial.empty()) return quotient(*n.divided_by(common), *d.divided_by(common));
  // e by long division with d's leading term; what it does not divide stays in r.
  const Poly::Term leading = d.terms().back();
  Poly e, r;
  while (!n.is_zero()) {
    const Poly::Term term = n.terms().back();
    const auto monomial = term.monomial.divided_by(leading.monomial);
    const std::int64_t factor = monomial ? whole_part(term.coefficient, leading.coefficient) : 0;
    if (factor != 0) {
      e += Poly::of_terms({{*monomial, factor}});
      n -= d * Poly::Term{*monomial, factor};
      if (n.is_zero() || n.terms().back().monomial != term.monomial) continue;
    }
    const Poly kept = Poly::of_terms({n.terms().back()});
    r += kept;
    n -= kept;
  }
  if (nonnegative(r) && nonnegative(d - 1 - r)) return e;
  if (nonnegative(-r - 1) && nonnegative(d + r)) return e - 1;
  if (!e.is_zero()) return e + quotient(r, d);
  const auto inner = r.atom();
  if (inner && kind(*inner) == Kind::Quotient) return quotient(Poly(left(*inner)), right(*inner) * d);
  return compound(Kind::Quotient, r, d);
}

bool Atoms::nonnegative(const Poly& poly) const {
  Poly shifted;
  for (const Poly::Term& term : poly.terms()) {
    Poly product(term.coefficient);
    for (const Atom atom : term.monomial) {
      if (kind(atom) != Kind::Size) return false;
      product = product * (Poly(atom) + 1);
    }
    shifted += product;
  }
  return std::ranges::all_of(shifted.terms(), [](const Poly::Term& term) { return term.coefficient >= 0; });
}

Poly Atoms::substitute(const Poly& poly, const Images& images) {
  Poly result;
  for (const Poly::Term& term : poly.terms()) {
    Poly product(term.coefficient);
    for (const Atom atom : term.monomial) {
      Poly value(atom);
      if (const auto image = images.find(atom); image != images.end()) {
        value = image->second;
      } else if (is_compound(atom)) {
        const Poly l = substitute(Poly(left(atom)), images), r = substitute(Poly(right(atom)), images);
        if (l != left(atom) || r != right(atom)) {
          value = kind(atom) == Kind::Quotient ? quotient(l, r) : extremum(kind(atom), l, r);
        }
      }
      product = product * value;
    }
    result += product;
  }
  return result;
}

void Atoms::collect(const Poly& poly, std::set<Atom>& into) const {
  for (const Poly::Term& term : poly.terms()) {
    for (const Atom atom : term.monomial) {
      if (!into.insert(atom).second || !is_compound(atom)) continue;
      collect(left(atom), into);
      collect(right(atom), into);
    }
  }
}

bool Atoms::occurs(const Poly& poly, Atom atom) const {
  std::set<Atom> all;
  collect(poly, all);
  return all.contains(atom);
}

Poly Atoms::import(const Poly& poly, const Symbols& symbols, const ByName* values) {
  const auto named_size = [&](const std::string& name) {
    if (!values) return size(name);
    const auto found = values->find(name);
    if (found == values->end()) throw InputError("instance", "no value for size " + name);
    return found->second;
  };
  Poly result;
  for (const Poly::Term& term : poly.terms()) {
    Poly product(term.coefficient);
    for (const Atom atom : term.monomial) {
      const auto operand = [&](const Poly& part) { return import(part, symbols, values); };
      switch (symbols.kind(atom)) {
        case Symbols::Kind::Size:
          product = product * named_size(symbols.name(atom));
          break;
        case Symbols::Kind::Index:
          throw InputError("statement", "an index stands among its sizes");
        case Symbols::Kind::FloorDiv:
          product = product * quotient(operand(symbols.left(atom)), operand(symbols.right(atom)));
          break;
        case Symbols::Kind::Min:
          product = product * minimum(operand(symbols.left(atom)), operand(symbols.right(atom)));
          break;
        case Symbols::Kind::Max:
          product = product * maximum(operand(symbols.left(atom)), operand(symbols.right(atom)));
          break;
      }
    }
    result += product;
  }
  return result;
}

std::string Atoms::text(const Poly& poly) const {
  std::string text;
  for (const Poly::Term& term : poly.terms()) {
    text += text.empty() ? (term.coefficient < 0 ? "-" : "") : term.coefficient < 0 ? " - " : " + ";
    const bool one = (term.coefficient == 1 || term.coefficient == -1) && !term.monomial.empty();
    std::string product = one ? "" : std::to_string(term.coefficient).substr(term.coefficient < 0 ? 1 : 0);
    for (const Atom atom : term.monomial) {
      static constexpr const char* words[] = {"", "", "", "div", "min", "max"};
      const Entry& e = entry(atom);
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

/// sum := ['-'] product {('+' | '-') product};  product := part {'*' part};
/// part := number | name | '@' number | '#' number | ('div' | 'min' | 'max') '(' sum ',' sum ')'
class PolyReader {
 public:
  PolyReader(std::string_view text, const std::string& place, Atoms& atoms)
      : text_(text), place_(place), atoms_(atoms) {}

  Poly whole() {
    const Poly result = sum(0);
    if (!text_.empty()) fail();
    return result;
  }

 private:
  static constexpr int deepest = 50;

  Poly sum(int depth) {
    if (depth > deepest) throw InputError(place_, "divisions are nested too deep");
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
    Poly result = part(depth);
    while (take('*')) result = result * part(depth);
    return result;
  }

  Poly part(int depth) {
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
    throw InputError(place_, text_.empty() ? "a polynomial is cut short"
                                           : "no polynomial can go on with '" + std::string(text_.substr(0, 20)) + "'");
  }

  std::string_view text_;
  const std::string& place_;
  Atoms& atoms_;
};

}  // namespace

Poly Atoms::parse(std::string_view text, const std::string& place) { return PolyReader(text, place, *this).whole(); }

Guard Atoms::parse_guard(std::string_view text, const std::string& place) {
  for (const std::string_view ending : {" >= 0", " = 0"}) {
    if (text.ends_with(ending)) return {ending == " = 0", parse(text.substr(0, text.size() - ending.size()), place)};
  }
  throw InputError(place, "expected a polynomial and '= 0' or '>= 0'");
}

}  // namespace rulemill::check
