#include "prove/elaboration/symbol_translator.h"

namespace rulemill::prove {

using check::Atoms;

namespace {

/// The polynomial with each atom replaced by its value.
template <class Value>
Poly map_atoms(const Poly& poly, const Value& value) {
  Poly result;
  for (const Poly::Term& term : poly.terms()) {
    Poly product(term.coefficient);
    for (const Atom atom : term.monomial) product = product * value(atom);
    result += product;
  }
  return result;
}

}  // namespace

const Poly& SymbolTranslator::to_prover(const Poly& poly) {
  const auto found = translations_.find(poly);
  return found != translations_.end() ? found->second : translations_.emplace(poly, translate(poly)).first->second;
}

Poly SymbolTranslator::translate(const Poly& poly) {
  return map_atoms(poly, [&](Atom atom) -> Poly {
    const bool compound = atoms_.is_compound(atom);
    const Poly left = compound ? to_prover(atoms_.left(atom)) : Poly();
    const Poly right = compound ? to_prover(atoms_.right(atom)) : Poly();
    switch (atoms_.kind(atom)) {
      case Atoms::Kind::Size:
        return Poly(symbols_.size(atoms_.text(Poly(atom))));
      case Atoms::Kind::Output:
      case Atoms::Kind::Bound:
        return Poly(to_prover(atom));
      case Atoms::Kind::Quotient:
        return symbols_.floor_div(left, right);
      case Atoms::Kind::Min:
        return symbols_.min(left, right);
      case Atoms::Kind::Max:
        return symbols_.max(left, right);
    }
    return {};
  });
}

Poly SymbolTranslator::to_checker(const Poly& poly) {
  return map_atoms(poly, [&](Atom atom) -> Poly {
    const Symbols::Kind kind = symbols_.kind(atom);
    const bool compound = kind != Symbols::Kind::Size && kind != Symbols::Kind::Index;
    const Poly left = compound ? to_checker(symbols_.left(atom)) : Poly();
    const Poly right = compound ? to_checker(symbols_.right(atom)) : Poly();
    switch (kind) {
      case Symbols::Kind::Size:
      case Symbols::Kind::Index:
        return atoms_.parse(symbols_.name(atom), "elaboration");
      case Symbols::Kind::FloorDiv:
        return atoms_.quotient(left, right);
      case Symbols::Kind::Min:
        return atoms_.minimum(left, right);
      case Symbols::Kind::Max:
        return atoms_.maximum(left, right);
    }
    return {};
  });
}

Guards SymbolTranslator::to_prover(const check::Guards& guards) {
  Guards result;
  for (const check::Guard& guard : guards) result.push_back({guard.equality, to_prover(guard.poly)});
  return result;
}

Product SymbolTranslator::to_prover(const check::Product& product) {
  Product result;
  result.coefficient = product.coefficient;
  result.guards = to_prover(product.guards);
  for (const Atom atom : product.bound) result.bound.push_back(to_prover(atom));
  for (const check::Factor& factor : product.factors) result.factors.push_back(to_prover(factor));
  return result;
}

Factor SymbolTranslator::to_prover(const check::Factor& factor) {
  static constexpr Factor::Kind kinds[] = {Factor::Kind::Read,  Factor::Kind::Inverse, Factor::Kind::Integer,
                                           Factor::Kind::Apply, Factor::Kind::Apply,   Factor::Kind::Max};
  Factor result;
  result.kind = kinds[static_cast<int>(factor.kind)];
  result.symbol = factor.symbol;
  for (const Poly& poly : factor.index) result.index.push_back(to_prover(poly));
  for (const Atom atom : factor.bound) result.bound.push_back(to_prover(atom));
  result.guards = to_prover(factor.guards);
  for (const check::Sum& argument : factor.arguments) {
    Sum& sum = result.arguments.emplace_back();
    for (const check::Product& product : argument) sum.push_back(to_prover(product));
  }
  return result;
}

std::optional<check::Step> SymbolTranslator::map_step(const Substitution& map, const std::vector<Atom>& old,
                                                      const std::vector<Atom>& fresh, const std::vector<Atom>& onto) {
  check::Step step;
  step.op = check::Step::Op::Reindex;
  std::vector<Poly> equations;
  std::vector<Atom> unknowns;
  Substitution names;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const auto image = map.find(fresh[i]);
    if (image == map.end()) return std::nullopt;
    step.images.emplace_back(old[i], to_checker(image->second));
    equations.push_back(Poly(fresh[i]) - image->second);
    names[fresh[i]] = Poly(to_prover(old[i]));
  }
  for (const Atom atom : onto) unknowns.push_back(to_prover(atom));
  const SolvedIndices solved = solve_indices(std::move(equations), unknowns, symbols_, budget_);
  for (std::size_t i = 0; i < onto.size(); ++i) {
    const auto value = solved.map.find(unknowns[i]);
    if (value == solved.map.end()) return std::nullopt;
    step.inverse.emplace_back(onto[i], to_checker(symbols_.substitute(value->second, names)));
  }
  return step;
}

}  // namespace rulemill::prove
