#include "algebra/terms/equal_products.h"

#include <algorithm>
#include <set>

namespace rulemill::algebra {

namespace {

constexpr std::size_t most_factors = 4;  // of a product
constexpr int most_equations = 4;        // dealt out in a row

/// The sizes of which each is a factor of one side alone, once.
struct Products {
  std::vector<Atom> left, right;
};

std::optional<Products> equal_products(const SizeCondition& condition, const Symbols& symbols) {
  if (condition.relation != Relation::Eq) return std::nullopt;
  const auto factors = [&](const Poly& poly) {
    std::vector<Atom> result;
    if (poly.terms().size() != 1 || poly.terms()[0].coefficient != 1) return result;
    result.assign(poly.terms()[0].monomial.begin(), poly.terms()[0].monomial.end());
    return result;
  };
  Products found{factors(condition.left), factors(condition.right)};
  for (std::size_t i = 0; i < found.left.size();) {  // a common factor of both is at least 1
    const auto same = std::ranges::find(found.right, found.left[i]);
    if (same == found.right.end()) {
      ++i;
      continue;
    }
    found.right.erase(same);
    found.left.erase(found.left.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::set<Atom> different;
  for (const auto* side : {&found.left, &found.right}) {
    if (side->size() < 2 || side->size() > most_factors) return std::nullopt;
    for (const Atom atom : *side) {
      if (symbols.kind(atom) != Symbols::Kind::Size || !different.insert(atom).second) return std::nullopt;
    }
  }
  return found;
}

std::set<std::string> names_in(const Rule& rule, const TermBank& bank, const Symbols& symbols) {
  std::set<std::string> names;
  const auto meet = [&](const Poly& poly) {
    for (const Atom atom : symbols.atoms(poly)) names.insert(symbols.name(atom));
  };
  for (const Shape& shape : rule.shapes) std::ranges::for_each(shape, meet);
  for (const SizeCondition& c : rule.condition) meet(c.left), meet(c.right);
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const NodeId node : bank.nodes(*side)) std::ranges::for_each(bank.node(node).sizes, meet);
  }
  return names;
}

/// p_i = Π_j s_ij, r_j = Π_i s_ij
Substitution dealt_out(const Products& products, std::set<std::string> names, Symbols& symbols) {
  Substitution result;
  for (const Atom p : products.left) {
    for (const Atom r : products.right) {
      // Whichever side of the equation stands left.
      std::string name = std::min(symbols.name(p), symbols.name(r)) + "_" + std::max(symbols.name(p), symbols.name(r));
      while (!names.insert(name).second) name += "_";
      const Poly part(symbols.size(name));
      for (const Atom whole : {p, r}) {
        const auto [entry, is_new] = result.try_emplace(whole, part);
        if (!is_new) entry->second = entry->second * part;
      }
    }
  }
  return result;
}

Rule substituted(const Rule& rule, const Substitution& sizes, TermBank& bank, Symbols& symbols) {
  Rule result = rule;
  std::unordered_map<TermId, TermId> same;
  for (const TermId variable : rule.variables) same.emplace(variable, variable);
  result.source = bank.substitute(rule.source, same, sizes, symbols);
  result.target = bank.substitute(rule.target, same, sizes, symbols);
  for (Shape& shape : result.shapes) {
    for (Poly& dim : shape) dim = symbols.substitute(dim, sizes);
  }
  result.condition.clear();
  for (const SizeCondition& c : rule.condition) {
    const SizeCondition here{c.relation, symbols.substitute(c.left, sizes), symbols.substitute(c.right, sizes)};
    if (here.relation != Relation::Eq || here.left != here.right) result.condition.push_back(here);
  }
  return result;
}

}  // namespace

std::optional<TypedRule> with_equal_products_dealt_out(const TypedRule& typed, TermBank& bank, Symbols& symbols) {
  Rule rule = typed.rule;
  int count = 0;
  for (std::size_t i = 0; i < rule.condition.size() && count < most_equations; ++i) {
    const std::optional<Products> found = equal_products(rule.condition[i], symbols);
    if (!found) continue;
    rule = substituted(rule, dealt_out(*found, names_in(rule, bank, symbols), symbols), bank, symbols);
    ++count;
    i = static_cast<std::size_t>(-1);
  }
  if (count == 0) return std::nullopt;
  auto types = infer_types(rule, bank, symbols);
  if (!std::holds_alternative<TypedRule>(types)) return std::nullopt;
  return std::move(std::get<TypedRule>(types));
}

}  // namespace rulemill::algebra
