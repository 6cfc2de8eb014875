#include "prove/elaboration/prove_zero.h"

#include <algorithm>

#include "check/core_rule.h"
#include "prove/elaboration/elaborator.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

namespace {

/// A translation of the prover's sums to the checker's atoms: bound indices become fresh ones, others become indices of
/// the element.
class Translation {
 public:
  Translation(const algebra::TypedRule& rule, const Symbols& symbols, check::Atoms& atoms)
      : rule_(rule), symbols_(symbols), atoms_(atoms) {}

  check::Sum sum(const Sum& from) {
    check::Sum result;
    for (const Product& product : from) {
      check::Product& to = result.emplace_back();
      to.coefficient = product.coefficient;
      to.bound = bind(product.bound);
      to.guards = guards(product.guards);
      for (const Factor& part : product.factors) to.factors.push_back(factor(part));
    }
    return result;
  }

  check::Guards guards(const Guards& from) {
    check::Guards result;
    for (const Guard& guard : from) result.push_back({guard.equality, poly(guard.poly)});
    return result;
  }

 private:
  check::Factor factor(const Factor& from) {
    using Kind = check::Factor::Kind;
    static constexpr std::pair<Factor::Kind, Kind> kinds[] = {{Factor::Kind::Read, Kind::Read},
                                                              {Factor::Kind::Apply, Kind::Apply},
                                                              {Factor::Kind::Max, Kind::Max},
                                                              {Factor::Kind::Inverse, Kind::Inverse},
                                                              {Factor::Kind::Integer, Kind::Integer}};
    check::Factor to;
    to.kind = std::ranges::find(kinds, from.kind, &std::pair<Factor::Kind, Kind>::first)->second;
    to.symbol = from.symbol;
    if (from.kind == Factor::Kind::Read) {
      const auto& variables = rule_.rule.variables;
      const auto place = std::ranges::find(variables, static_cast<algebra::TermId>(from.symbol));
      to.symbol = static_cast<std::uint32_t>(place - variables.begin());
    }
    to.bound = bind(from.bound);
    for (const Poly& index : from.index) to.index.push_back(poly(index));
    to.guards = guards(from.guards);
    for (const Sum& argument : from.arguments) to.arguments.push_back(sum(argument));
    return to;
  }

  std::vector<Atom> bind(const std::vector<Atom>& bound) {
    std::vector<Atom> result;
    for (const Atom atom : bound) {
      result.push_back(atoms_.fresh_bound());
      indices_[atom] = Poly(result.back());
    }
    return result;
  }

  Poly poly(const Poly& from) {
    Poly result;
    for (const Poly::Term& term : from.terms()) {
      Poly product(term.coefficient);
      for (const Atom atom : term.monomial) product = product * value(atom);
      result += product;
    }
    return result;
  }

  Poly value(Atom atom) {
    switch (symbols_.kind(atom)) {
      case Symbols::Kind::Size:
        return atoms_.size(symbols_.name(atom));
      case Symbols::Kind::Index: {
        const auto [place, is_new] = indices_.try_emplace(atom);
        if (is_new) place->second = atoms_.output(free_++);
        return place->second;
      }
      case Symbols::Kind::FloorDiv:
        return atoms_.quotient(poly(symbols_.left(atom)), poly(symbols_.right(atom)));
      case Symbols::Kind::Min:
        return atoms_.minimum(poly(symbols_.left(atom)), poly(symbols_.right(atom)));
      case Symbols::Kind::Max:
        return atoms_.maximum(poly(symbols_.left(atom)), poly(symbols_.right(atom)));
    }
    return {};
  }

  const algebra::TypedRule& rule_;
  const Symbols& symbols_;
  check::Atoms& atoms_;
  std::map<Atom, Poly> indices_;
  std::size_t free_ = 0;
};

}  // namespace

bool prove_zero(const Sum& sum, const Guards& given, const algebra::TypedRule& rule, const algebra::TermBank& bank,
                const Symbols& symbols, const std::vector<SizesByName>& samples, const AlignmentLimits& align,
                const ElaborationLimits& limits) {
  try {
    check::Atoms atoms;
    const check::Statement statement(check::to_core(rule.rule, bank, symbols, atoms), atoms);
    Translation translation(rule, symbols, atoms);
    check::Guards known = statement.facts();
    for (const check::Guard& guard : translation.guards(given)) known.push_back(guard);
    return Elaborator(statement, samples, align, limits, false).proves_zero(translation.sum(sum), {known, {}});
  } catch (const check::CheckError&) {
    return false;
  } catch (const runtime::InputError&) {
    return false;  // a size whose name is not an identifier
  }
}

}  // namespace rulemill::prove
