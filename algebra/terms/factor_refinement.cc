#include "algebra/terms/factor_refinement.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include "algebra/sizes/checked.h"
#include "algebra/terms/size_condition.h"

namespace rulemill::algebra {
namespace {

struct ProductEquation {
  std::size_t position = 0;       // in the rule's condition
  std::map<Atom, int> exponents;  // of sizes: those on the left side minus those on the right side; none is 0
};

/// The exponents of an equation. nullopt unless two or more sizes remain on each side when common ones are cancelled.
std::optional<std::map<Atom, int>> product_equation_of(const SizeCondition& condition, const Symbols& symbols) {
  if (condition.relation != Relation::Eq) return std::nullopt;
  std::map<Atom, int> exponents;
  for (const Poly* side : {&condition.left, &condition.right}) {
    if (side->terms().size() != 1 || side->terms()[0].coefficient != 1) return std::nullopt;
    for (const Atom atom : side->terms()[0].monomial) {
      if (symbols.kind(atom) != Symbols::Kind::Size) return std::nullopt;
      exponents[atom] += side == &condition.left ? 1 : -1;
    }
  }
  std::erase_if(exponents, [](const auto& exponent) { return exponent.second == 0; });
  int left = 0, right = 0;
  for (const auto& [atom, exponent] : exponents) (exponent > 0 ? left : right) += std::abs(exponent);
  if (left < 2 || right < 2) return std::nullopt;
  return exponents;
}

std::vector<ProductEquation> product_equations_of(const Rule& rule, const Symbols& symbols) {
  std::vector<ProductEquation> equations;
  for (std::size_t i = 0; i < rule.condition.size(); ++i) {
    if (auto exponents = product_equation_of(rule.condition[i], symbols))
      equations.push_back({i, std::move(*exponents)});
  }
  return equations;
}

/// Names do not depend on the order in which sizes were created, nor on sides of equations.
std::optional<CommonFactors> common_factors(const std::vector<ProductEquation>& equations, std::set<std::string> names,
                                            Symbols& symbols) {
  CommonFactors result;
  std::set<Atom> sizes;
  for (const ProductEquation& equation : equations) {
    for (const auto& [size, exponent] : equation.exponents) sizes.insert(size);
  }
  result.sizes.assign(sizes.begin(), sizes.end());
  std::ranges::sort(result.sizes, {}, [&](Atom size) -> const std::string& { return symbols.name(size); });
  std::vector<UnknownsVector> coefficients;
  for (const ProductEquation& equation : equations) {
    UnknownsVector& row = coefficients.emplace_back();
    for (const Atom size : result.sizes)
      row.push_back(equation.exponents.contains(size) ? equation.exponents.at(size) : 0);
  }
  auto solutions = minimal_solutions(coefficients);
  if (!solutions) return std::nullopt;
  result.exponents = std::move(*solutions);
  for (const UnknownsVector& exponents : result.exponents) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < exponents.size(); ++i) {
      if (exponents[i] > 0) parts.push_back(symbols.name(result.sizes[i]));
    }
    const std::size_t number = result.factors.size() + 1;
    const std::string name = parts.size() == 2 ? parts[0] + "_" + parts[1]
                             : number == 1     ? "f"
                                               : "f" + std::to_string(number);
    result.factors.push_back(*unused_size(name, names, symbols).atom());
  }
  return result;
}

Substitution substitution_of(const CommonFactors& factors) {
  Substitution result;
  for (std::size_t i = 0; i < factors.sizes.size(); ++i) {
    Poly product(1);
    for (std::size_t j = 0; j < factors.factors.size(); ++j) {
      for (int k = 0; k < factors.exponents[j][i]; ++k) product = product * Poly(factors.factors[j]);
    }
    result.emplace(factors.sizes[i], std::move(product));
  }
  return result;
}

/// Replaces sizes by products that satisfy the equations, which leave the condition.
Rule with_sizes_replaced(const Rule& rule, const std::vector<ProductEquation>& equations, const Substitution& sizes,
                         TermBank& bank, Symbols& symbols) {
  Rule result = rule;
  result.source = bank.substitute(rule.source, {}, sizes, symbols);
  result.target = bank.substitute(rule.target, {}, sizes, symbols);
  for (Shape& shape : result.shapes) {
    for (Poly& dim : shape) dim = symbols.substitute(dim, sizes);
  }
  result.condition.clear();
  for (std::size_t i = 0; i < rule.condition.size(); ++i) {
    if (std::ranges::find(equations, i, &ProductEquation::position) != equations.end()) continue;
    const SizeCondition here = substitute(rule.condition[i], sizes, symbols);
    if (here.relation != Relation::Eq || here.left != here.right) result.condition.push_back(here);
  }
  return result;
}

/// The exponents of sizes and of primes in a product.
struct Factorization {
  std::map<Atom, int> sizes;
  std::map<std::int64_t, int> primes;
};

/// nullopt if the value is not a product of sizes and a positive number.
std::optional<Factorization> factorize(const Poly& value) {
  if (value.terms().size() != 1 || value.terms()[0].coefficient < 1) return std::nullopt;
  Factorization result;
  for (const Atom atom : value.terms()[0].monomial) ++result.sizes[atom];
  std::int64_t rest = value.terms()[0].coefficient;
  for (std::int64_t prime = 2; prime <= rest / prime; ++prime) {
    for (; rest % prime == 0; rest /= prime) ++result.primes[prime];
  }
  if (rest > 1) ++result.primes[rest];
  return result;
}

/// Returns how often each solution occurs in a sum of them that is `exponents`; nullopt if that is no such sum.
std::optional<UnknownsVector> as_sum(UnknownsVector exponents, const std::vector<UnknownsVector>& solutions) {
  UnknownsVector counts;
  for (const UnknownsVector& solution : solutions) {
    int count = std::numeric_limits<int>::max();
    for (std::size_t i = 0; i < exponents.size(); ++i) {
      if (solution[i] > 0) count = std::min(count, exponents[i] / solution[i]);
    }
    for (std::size_t i = 0; i < exponents.size(); ++i) exponents[i] -= count * solution[i];
    counts.push_back(count);
  }
  return std::ranges::all_of(exponents, [](int rest) { return rest == 0; }) ? std::optional(counts) : std::nullopt;
}

}  // namespace

std::optional<RefinedRule> refine_factors(const TypedRule& typed, TermBank& bank, Symbols& symbols) {
  std::vector<ProductEquation> equations = product_equations_of(typed.rule, symbols);
  for (; !equations.empty(); equations.pop_back()) {
    auto factors = common_factors(equations, used_size_names(typed.rule, bank, symbols), symbols);
    if (!factors) continue;
    try {
      const Rule rule = with_sizes_replaced(typed.rule, equations, substitution_of(*factors), bank, symbols);
      auto types = try_typing(rule, bank, symbols);
      return types ? std::optional(RefinedRule{std::move(*types), std::move(*factors)}) : std::nullopt;
    } catch (const Overflow&) {  // a product of too many factors: refined without the last equation
      continue;
    }
  }
  return std::nullopt;
}

bool distribute_factors(const CommonFactors& factors, Substitution& values) {
  std::vector<Factorization> products;
  std::map<Atom, UnknownsVector> of_sizes;  // exponents, by size of `factors`
  std::map<std::int64_t, UnknownsVector> of_primes;
  for (std::size_t i = 0; i < factors.sizes.size(); ++i) {
    const auto value = values.find(factors.sizes[i]);
    const auto product = value == values.end() ? std::nullopt : factorize(value->second);
    if (!product) return false;
    const auto add = [&](auto& exponents, const auto& base, int exponent) {
      exponents.try_emplace(base, factors.sizes.size()).first->second[i] = exponent;
    };
    for (const auto& [size, exponent] : product->sizes) add(of_sizes, size, exponent);
    for (const auto& [prime, exponent] : product->primes) add(of_primes, prime, exponent);
  }
  std::vector<Poly> results(factors.factors.size(), Poly(1));
  const auto distribute = [&](const Poly& base, const UnknownsVector& exponents) {
    const auto counts = as_sum(exponents, factors.exponents);
    if (!counts) return false;
    for (std::size_t j = 0; j < results.size(); ++j) {
      for (int k = 0; k < (*counts)[j]; ++k) results[j] = results[j] * base;
    }
    return true;
  };
  for (const auto& [size, exponents] : of_sizes) {
    if (!distribute(Poly(size), exponents)) return false;
  }
  for (const auto& [prime, exponents] : of_primes) {
    if (!distribute(Poly(prime), exponents)) return false;
  }
  for (std::size_t j = 0; j < results.size(); ++j) values.insert_or_assign(factors.factors[j], std::move(results[j]));
  return true;
}

}  // namespace rulemill::algebra
