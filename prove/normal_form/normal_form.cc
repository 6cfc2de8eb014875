#include "prove/normal_form/normal_form.h"

#include <algorithm>
#include <string>

#include "prove/solver/budget.h"

namespace rulemill::prove {

Atom IndexSupply::next() { return symbols_->index("k" + std::to_string(count_++)); }

void for_each_poly(Factor& factor, const std::function<void(Poly&)>& f) {
  for (Poly& poly : factor.index) f(poly);
  for (Guard& guard : factor.guards) f(guard.poly);
  for (Sum& argument : factor.arguments) {
    for (Product& product : argument) for_each_poly(product, f);
  }
}

void for_each_poly(Product& product, const std::function<void(Poly&)>& f) {
  for (Guard& guard : product.guards) f(guard.poly);
  for (Factor& factor : product.factors) for_each_poly(factor, f);
}

void for_each_poly(const Factor& factor, const std::function<void(const Poly&)>& f) {
  for (const Poly& poly : factor.index) f(poly);
  for (const Guard& guard : factor.guards) f(guard.poly);
  for (const Sum& argument : factor.arguments) {
    for (const Product& product : argument) for_each_poly(product, f);
  }
}

void for_each_poly(const Product& product, const std::function<void(const Poly&)>& f) {
  for (const Guard& guard : product.guards) f(guard.poly);
  for (const Factor& factor : product.factors) for_each_poly(factor, f);
}

void substitute(Product& product, const Substitution& substitution, Symbols& symbols) {
  if (substitution.empty()) return;
  for_each_poly(product, [&](Poly& poly) { poly = symbols.substitute(poly, substitution); });
}

void substitute(Factor& factor, const Substitution& substitution, Symbols& symbols) {
  if (substitution.empty()) return;
  for_each_poly(factor, [&](Poly& poly) { poly = symbols.substitute(poly, substitution); });
}

namespace {

Substitution fresh_names(std::vector<Atom>& bound, IndexSupply& supply) {
  Substitution names;
  for (Atom& atom : bound) {
    const Atom fresh = supply.next();
    names[atom] = Poly(fresh);
    atom = fresh;
  }
  return names;
}

void rename_nested(Factor& factor, IndexSupply& supply, Symbols& symbols) {
  for (Sum& argument : factor.arguments) {
    for (Product& product : argument) rename_bound(product, supply, symbols);
  }
}

}  // namespace

void rename_bound(Factor& factor, IndexSupply& supply, Symbols& symbols) {
  const Substitution names = fresh_names(factor.bound, supply);
  substitute(factor, names, symbols);
  rename_nested(factor, supply, symbols);
}

void rename_bound(Product& product, IndexSupply& supply, Symbols& symbols) {
  const Substitution names = fresh_names(product.bound, supply);
  substitute(product, names, symbols);
  for (Factor& factor : product.factors) rename_bound(factor, supply, symbols);
}

Sum multiply(const Sum& a, const Sum& b, IndexSupply& supply, Symbols& symbols) {
  Sum products;
  products.reserve(a.size() * b.size());
  for (const Product& left : a) {
    for (const Product& right : b) {
      Product product = left;
      Product other = right;
      rename_bound(other, supply, symbols);
      product.coefficient = product.coefficient * other.coefficient;
      product.guards.insert(product.guards.end(), other.guards.begin(), other.guards.end());
      product.bound.insert(product.bound.end(), other.bound.begin(), other.bound.end());
      product.factors.insert(product.factors.end(), std::make_move_iterator(other.factors.begin()),
                             std::make_move_iterator(other.factors.end()));
      products.push_back(std::move(product));
    }
  }
  return products;
}

Sum negate(Sum sum) {
  for (Product& product : sum) product.coefficient.num = -product.coefficient.num;
  return sum;
}

void throw_if_too_large(const Sum& sum) {
  constexpr std::size_t max_products = 4096;
  if (sum.size() > max_products)
    throw LimitReached{"the normal form has more than " + std::to_string(max_products) + " products"};
}

bool mentions(const Poly& poly, const std::vector<Atom>& atoms, const Symbols& symbols) {
  return std::any_of(atoms.begin(), atoms.end(), [&](Atom atom) { return symbols.contains(poly, atom); });
}

std::uint64_t head(const Factor& factor) {
  return (static_cast<std::uint64_t>(factor.kind) << 56) | (static_cast<std::uint64_t>(factor.bound.size()) << 48) |
         factor.symbol;
}

namespace {

std::string sum_text(const Sum& sum, const algebra::TermBank& bank, const Symbols& symbols) {
  std::string text;
  for (const Product& product : sum) text += (text.empty() ? "" : " + ") + to_string(product, bank, symbols);
  return sum.empty() ? "0" : text;
}

std::string factor_text(const Factor& factor, const algebra::TermBank& bank, const Symbols& symbols) {
  std::string text;
  switch (factor.kind) {
    case Factor::Kind::Read:
      text = bank.term(static_cast<algebra::TermId>(factor.symbol)).name;
      return text + symbols.to_string(algebra::Shape(factor.index.begin(), factor.index.end()));
    case Factor::Kind::Inverse:
      return "1/(" + symbols.to_string(factor.index[0]) + ")";
    case Factor::Kind::Integer:
      return "(" + symbols.to_string(factor.index[0]) + ")";
    case Factor::Kind::Apply:
      text = bank.library().functions()[factor.symbol].name + "(";
      break;
    case Factor::Kind::Max:
      text = "max(";
      for (const Atom atom : factor.bound) text += symbols.name(atom) + " ";
      for (const Guard& guard : factor.guards) text += "[" + to_string(guard, symbols) + "]";
      text += ": ";
      break;
  }
  for (std::size_t i = 0; i < factor.arguments.size(); ++i) {
    text += (i == 0 ? "" : ", ") + sum_text(factor.arguments[i], bank, symbols);
  }
  return text + ")";
}

}  // namespace

std::string to_string(const Product& product, const algebra::TermBank& bank, const Symbols& symbols) {
  std::string text = algebra::to_string(product.coefficient);
  if (!product.bound.empty()) {
    text += " sum(";
    for (const Atom atom : product.bound) text += (text.back() == '(' ? "" : " ") + symbols.name(atom);
    text += ")";
  }
  for (const Guard& guard : product.guards) text += " [" + to_string(guard, symbols) + "]";
  for (const Factor& factor : product.factors) text += " " + factor_text(factor, bank, symbols);
  return text;
}

}  // namespace rulemill::prove
