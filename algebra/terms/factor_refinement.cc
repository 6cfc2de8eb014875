#include "algebra/terms/factor_refinement.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "algebra/terms/size_condition.h"

namespace rulemill::algebra {

namespace {

constexpr std::size_t max_factors = 4;    // of a product
constexpr std::size_t max_equations = 4;  // of one rule

/// Cancels common sizes. nullopt unless the remaining sizes are distinct and each side has 2 to max_factors of them.
std::optional<ProductEquation> as_product_equation(const SizeCondition& condition, const Symbols& symbols) {
  if (condition.relation != Relation::Eq) return std::nullopt;
  const auto factors = [&](const Poly& poly) {
    std::vector<Atom> result;
    if (poly.terms().size() != 1 || poly.terms()[0].coefficient != 1) return result;
    result.assign(poly.terms()[0].monomial.begin(), poly.terms()[0].monomial.end());
    return result;
  };
  ProductEquation found{factors(condition.left), factors(condition.right), {}};
  for (std::size_t i = 0; i < found.left.size();) {  // cancels, as it is at least 1
    const auto same = std::ranges::find(found.right, found.left[i]);
    if (same == found.right.end()) {
      ++i;
      continue;
    }
    found.right.erase(same);
    found.left.erase(found.left.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::set<Atom> distinct;
  for (const auto* side : {&found.left, &found.right}) {
    if (side->size() < 2 || side->size() > max_factors) return std::nullopt;
    for (const Atom atom : *side) {
      if (symbols.kind(atom) != Symbols::Kind::Size || !distinct.insert(atom).second) return std::nullopt;
    }
  }
  return found;
}

void create_common_factors(ProductEquation& products, std::set<std::string> names, Symbols& symbols) {
  for (const Atom p : products.left) {
    auto& row = products.common_factors.emplace_back();
    for (const Atom r : products.right) {
      // The same name whichever side is on the left.
      const std::string name =
          std::min(symbols.name(p), symbols.name(r)) + "_" + std::max(symbols.name(p), symbols.name(r));
      row.push_back(*unused_size(name, names, symbols).atom());
    }
  }
}

Substitution substitution_of(const ProductEquation& products) {
  Substitution result;
  for (std::size_t i = 0; i < products.left.size(); ++i) {
    for (std::size_t j = 0; j < products.right.size(); ++j) {
      const Poly factor(products.common_factors[i][j]);
      for (const Atom whole : {products.left[i], products.right[j]}) {
        const auto [entry, is_new] = result.try_emplace(whole, factor);
        if (!is_new) entry->second = entry->second * factor;
      }
    }
  }
  return result;
}

Rule with_sizes_replaced(const Rule& rule, const Substitution& sizes, TermBank& bank, Symbols& symbols) {
  Rule result = rule;
  result.source = bank.substitute(rule.source, {}, sizes, symbols);
  result.target = bank.substitute(rule.target, {}, sizes, symbols);
  for (Shape& shape : result.shapes) {
    for (Poly& dim : shape) dim = symbols.substitute(dim, sizes);
  }
  result.condition.clear();
  for (const SizeCondition& c : rule.condition) {
    const SizeCondition here = substitute(c, sizes, symbols);
    if (here.relation != Relation::Eq || here.left != here.right) result.condition.push_back(here);
  }
  return result;
}

/// The greatest common divisor.
Poly::Term common_factor(const Poly::Term& a, const Poly::Term& b) {
  Poly::Term common{{}, std::gcd(a.coefficient, b.coefficient)};
  Monomial rest = b.monomial;
  for (const Atom atom : a.monomial) {
    if (rest.remove(atom)) common.monomial.push_back(atom);
  }
  return common;
}

/// a / factor, which divides it.
Poly::Term without(const Poly::Term& a, const Poly::Term& factor) {
  return {*a.monomial.divided_by(factor.monomial), a.coefficient / factor.coefficient};
}

/// The values of these sizes; nullopt if one has no value, or one that is not a positive multiple of a product.
std::optional<std::vector<Poly::Term>> products_of(const std::vector<Atom>& sizes, const Substitution& values) {
  std::vector<Poly::Term> products;
  for (const Atom size : sizes) {
    const auto value = values.find(size);
    if (value == values.end() || value->second.terms().size() != 1) return std::nullopt;
    products.push_back(value->second.terms()[0]);
    if (products.back().coefficient < 1) return std::nullopt;
  }
  return products;
}

}  // namespace

std::optional<RefinedRule> refine_factors(const TypedRule& typed, TermBank& bank, Symbols& symbols) {
  Rule rule = typed.rule;
  std::vector<ProductEquation> equations;
  for (std::size_t i = 0; i < rule.condition.size() && equations.size() < max_equations; ++i) {
    std::optional<ProductEquation> found = as_product_equation(rule.condition[i], symbols);
    if (!found) continue;
    create_common_factors(*found, used_size_names(rule, bank, symbols), symbols);
    rule = with_sizes_replaced(rule, substitution_of(*found), bank, symbols);
    equations.push_back(std::move(*found));
    i = static_cast<std::size_t>(-1);
  }
  if (equations.empty()) return std::nullopt;
  auto types = try_typing(rule, bank, symbols);
  return types ? std::optional(RefinedRule{std::move(*types), std::move(equations)}) : std::nullopt;
}

bool distribute_factors(const std::vector<ProductEquation>& equations, Substitution& values) {
  const Poly::Term one{{}, 1};
  for (const ProductEquation& equation : equations) {
    auto left = products_of(equation.left, values), right = products_of(equation.right, values);
    if (!left || !right) return false;
    for (std::size_t i = 0; i < left->size(); ++i) {
      for (std::size_t j = 0; j < right->size(); ++j) {
        Poly::Term &p = (*left)[i], &r = (*right)[j];
        const Poly::Term factor = common_factor(p, r);
        p = without(p, factor);
        r = without(r, factor);
        values.insert_or_assign(equation.common_factors[i][j], Poly::from_terms({factor}));
      }
    }
    const auto is_one = [&](const Poly::Term& rest) { return rest == one; };
    if (!std::ranges::all_of(*left, is_one) || !std::ranges::all_of(*right, is_one)) return false;
  }
  return true;
}

}  // namespace rulemill::algebra
