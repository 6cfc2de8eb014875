#include "algebra/sizes/poly.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

std::size_t mix(std::size_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdULL;
}

[[noreturn]] void throw_degree_overflow() {
  throw Overflow("a product has more than " + std::to_string(Monomial::max_degree) + " factors");
}

}  // namespace

Monomial::Monomial(std::initializer_list<Atom> atoms) {
  for (const Atom atom : atoms) push_back(atom);
}

void Monomial::push_back(Atom atom) {
  if (size_ == max_degree) throw_degree_overflow();
  std::uint32_t at = size_++;
  for (; at > 0 && atoms_[at - 1] > atom; --at) atoms_[at] = atoms_[at - 1];
  atoms_[at] = atom;
}

bool Monomial::remove(Atom atom) {
  const Atom* found = std::find(begin(), end(), atom);
  if (found == end()) return false;
  std::copy(found + 1, end(), atoms_.data() + (found - begin()));
  --size_;
  return true;
}

bool Monomial::contains(Atom atom) const { return std::find(begin(), end(), atom) != end(); }

std::optional<Monomial> Monomial::divided_by(const Monomial& divisor) const {
  if (divisor.size_ > size_) return std::nullopt;
  Monomial quotient;
  const Atom* next = divisor.begin();
  for (const Atom atom : *this) {
    if (next != divisor.end() && *next == atom)
      ++next;
    else
      quotient.atoms_[quotient.size_++] = atom;
  }
  if (next != divisor.end()) return std::nullopt;
  return quotient;
}

Monomial operator*(const Monomial& a, const Monomial& b) {
  if (a.size_ + b.size_ > Monomial::max_degree) throw_degree_overflow();
  Monomial product;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), product.atoms_.begin());
  product.size_ = a.size_ + b.size_;
  return product;
}

bool Monomial::operator==(const Monomial& other) const {
  return size_ == other.size_ && std::equal(begin(), end(), other.begin());
}

std::strong_ordering Monomial::operator<=>(const Monomial& other) const {
  if (size_ != other.size_) return size_ <=> other.size_;
  return std::lexicographical_compare_three_way(begin(), end(), other.begin(), other.end());
}

Poly::Poly(std::int64_t constant) {
  checked(false, constant);
  if (constant != 0) terms_.push_back({{}, constant});
}

Poly::Poly(Atom atom) { terms_.push_back({{atom}, 1}); }

Poly Poly::from_terms(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.monomial < b.monomial; });
  Poly result;
  for (Term& term : terms) {
    if (!result.terms_.empty() && result.terms_.back().monomial == term.monomial) {
      result.terms_.back().coefficient = checked_add(result.terms_.back().coefficient, term.coefficient);
    } else {
      if (!result.terms_.empty() && result.terms_.back().coefficient == 0) result.terms_.pop_back();
      result.terms_.push_back(term);
    }
  }
  if (!result.terms_.empty() && result.terms_.back().coefficient == 0) result.terms_.pop_back();
  return result;
}

std::optional<std::int64_t> Poly::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_[0].monomial.empty()) return terms_[0].coefficient;
  return std::nullopt;
}

std::optional<Atom> Poly::atom() const {
  if (terms_.size() == 1 && terms_[0].coefficient == 1 && terms_[0].monomial.size() == 1) return terms_[0].monomial[0];
  return std::nullopt;
}

std::int64_t Poly::coefficient(Atom atom) const {
  for (const Term& term : terms_) {
    if (term.monomial.size() > 1) break;
    if (term.monomial.size() == 1 && term.monomial[0] == atom) return term.coefficient;
  }
  return 0;
}

std::int64_t Poly::constant_term() const {
  return !terms_.empty() && terms_[0].monomial.empty() ? terms_[0].coefficient : 0;
}

Poly::Term Poly::content() const {
  Term content{{}, 1};
  if (terms_.empty()) return content;
  content = {terms_[0].monomial, 0};
  for (const Term& term : terms_) {
    content.coefficient = std::gcd(content.coefficient, term.coefficient);
    Monomial common;
    Monomial rest = term.monomial;
    for (const Atom atom : content.monomial) {
      if (rest.remove(atom)) common.push_back(atom);
    }
    content.monomial = common;
  }
  return content;
}

std::optional<Poly> Poly::divided_by(const Term& divisor) const {
  Poly result;
  result.terms_.reserve(terms_.size());
  for (const Term& term : terms_) {
    const std::optional<Monomial> monomial = term.monomial.divided_by(divisor.monomial);
    if (!monomial || term.coefficient % divisor.coefficient != 0) return std::nullopt;
    result.terms_.push_back({*monomial, term.coefficient / divisor.coefficient});
  }
  return result;  // division preserves the order, as multiplication does
}

std::vector<Poly> Poly::coefficients_in(Atom atom) const {
  std::vector<std::vector<Term>> by_power(1);
  for (const Term& term : terms_) {
    Term rest = term;
    std::size_t power = 0;
    while (rest.monomial.remove(atom)) ++power;
    if (power >= by_power.size()) by_power.resize(power + 1);
    by_power[power].push_back(rest);
  }
  std::vector<Poly> result;
  for (std::vector<Term>& coefficient : by_power) result.push_back(from_terms(std::move(coefficient)));
  return result;
}

void Poly::add_scaled(const Poly& other, std::int64_t factor) {
  if (other.terms_.empty()) return;
  std::vector<Term> sum;
  sum.reserve(terms_.size() + other.terms_.size());
  std::size_t i = 0;
  for (const Term& term : other.terms_) {
    while (i < terms_.size() && terms_[i].monomial < term.monomial) sum.push_back(terms_[i++]);
    std::int64_t coefficient = checked_multiply(term.coefficient, factor);
    if (i < terms_.size() && terms_[i].monomial == term.monomial)
      coefficient = checked_add(terms_[i++].coefficient, coefficient);
    if (coefficient != 0) sum.push_back({term.monomial, coefficient});
  }
  sum.insert(sum.end(), terms_.begin() + static_cast<std::ptrdiff_t>(i), terms_.end());
  terms_ = std::move(sum);
}

Poly& Poly::operator+=(const Poly& other) {
  add_scaled(other, 1);
  return *this;
}

Poly& Poly::operator-=(const Poly& other) {
  add_scaled(other, -1);
  return *this;
}

Poly operator*(const Poly& poly, const Poly::Term& term) {
  Poly result;
  if (term.coefficient == 0) return result;
  result.terms_.reserve(poly.terms_.size());
  for (const Poly::Term& t : poly.terms_)
    result.terms_.push_back({t.monomial * term.monomial, checked_multiply(t.coefficient, term.coefficient)});
  return result;
}

Poly operator*(const Poly& a, const Poly& b) {
  if (a.terms_.size() == 1) return b * a.terms_[0];
  if (b.terms_.size() == 1) return a * b.terms_[0];
  std::vector<Poly::Term> terms;
  terms.reserve(a.terms_.size() * b.terms_.size());
  for (const Poly::Term& s : a.terms_) {
    for (const Poly::Term& t : b.terms_)
      terms.push_back({s.monomial * t.monomial, checked_multiply(s.coefficient, t.coefficient)});
  }
  return Poly::from_terms(std::move(terms));
}

Poly Poly::operator-() const { return *this * Term{{}, -1}; }

std::size_t Poly::hash() const {
  std::size_t hash = terms_.size();
  for (const Term& term : terms_) {
    for (const Atom atom : term.monomial) hash = mix(hash, static_cast<std::uint32_t>(atom) + 1);
    hash = mix(hash, static_cast<std::uint64_t>(term.coefficient));
  }
  return hash;
}

}  // namespace rulemill::algebra
