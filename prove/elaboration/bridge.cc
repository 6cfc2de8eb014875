#include "prove/elaboration/bridge.h"

namespace rulemill::prove {

using check::Atoms;

namespace {

/// The polynomial with a value for each of its atoms.
template <class Value>
Poly rebuilt(const Poly& poly, const Value& value) {
  Poly result;
  for (const Poly::Term& term : poly.terms()) {
    Poly product(term.coefficient);
    for (const Atom atom : term.monomial) product = product * value(atom);
    result += product;
  }
  return result;
}

}  // namespace

const Poly& Bridge::there(const Poly& poly) {
  const auto found = known_.find(poly);
  return found != known_.end() ? found->second : known_.emplace(poly, translated(poly)).first->second;
}

Poly Bridge::translated(const Poly& poly) {
  return rebuilt(poly, [&](Atom atom) -> Poly {
    const bool compound = atoms_.is_compound(atom);
    const Poly left = compound ? there(atoms_.left(atom)) : Poly();
    const Poly right = compound ? there(atoms_.right(atom)) : Poly();
    switch (atoms_.kind(atom)) {
      case Atoms::Kind::Size:
        return Poly(symbols_.size(atoms_.text(Poly(atom))));
      case Atoms::Kind::Output:
      case Atoms::Kind::Bound:
        return Poly(there(atom));
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

Poly Bridge::back(const Poly& poly) {
  return rebuilt(poly, [&](Atom atom) -> Poly {
    const Symbols::Kind kind = symbols_.kind(atom);
    const bool compound = kind != Symbols::Kind::Size && kind != Symbols::Kind::Index;
    const Poly left = compound ? back(symbols_.left(atom)) : Poly();
    const Poly right = compound ? back(symbols_.right(atom)) : Poly();
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

Guards Bridge::there(const check::Guards& guards) {
  Guards result;
  for (const check::Guard& guard : guards) result.push_back({guard.equality, there(guard.poly)});
  return result;
}

Product Bridge::there(const check::Product& product) {
  Product result;
  result.coefficient = product.coefficient;
  result.guards = there(product.guards);
  for (const Atom atom : product.bound) result.bound.push_back(there(atom));
  for (const check::Factor& factor : product.factors) result.factors.push_back(there(factor));
  return result;
}

Factor Bridge::there(const check::Factor& factor) {
  static constexpr Factor::Kind kinds[] = {Factor::Kind::Read, Factor::Kind::Inverse, Factor::Kind::Whole,
                                           Factor::Kind::Apply, Factor::Kind::Max};
  Factor result;
  result.kind = kinds[static_cast<int>(factor.kind)];
  result.symbol = factor.symbol;
  for (const Poly& poly : factor.index) result.index.push_back(there(poly));
  for (const Atom atom : factor.bound) result.bound.push_back(there(atom));
  result.guards = there(factor.guards);
  for (const check::Sum& argument : factor.arguments) {
    Sum& sum = result.arguments.emplace_back();
    for (const check::Product& product : argument) sum.push_back(there(product));
  }
  return result;
}

std::optional<check::Step> Bridge::map_step(const Substitution& map, const std::vector<Atom>& old,
                                            const std::vector<Atom>& fresh, const std::vector<Atom>& onto) {
  check::Step step;
  step.op = check::Step::Op::Map;
  std::vector<Poly> equations;
  std::vector<Atom> unknown;
  Substitution names;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const auto image = map.find(fresh[i]);
    if (image == map.end()) return std::nullopt;
    step.to.emplace_back(old[i], back(image->second));
    equations.push_back(Poly(fresh[i]) - image->second);
    names[fresh[i]] = Poly(there(old[i]));
  }
  for (const Atom atom : onto) unknown.push_back(there(atom));
  const SolvedIndices solved = solve_indices(std::move(equations), unknown, symbols_, budget_);
  for (std::size_t i = 0; i < onto.size(); ++i) {
    const auto value = solved.map.find(unknown[i]);
    if (value == solved.map.end()) return std::nullopt;
    step.back.emplace_back(onto[i], back(symbols_.substitute(value->second, names)));
  }
  return step;
}

}  // namespace rulemill::prove
