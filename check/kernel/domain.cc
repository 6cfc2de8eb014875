// Where sides are defined. A side is defined where all of its demands are met; each demand of one side must follow from
// the demands of the other, so that both are defined for the same values of the variables.
#include <algorithm>

#include "algebra/language/function_domain.h"
#include "check/kernel/proof.h"

namespace rulemill::check {

using algebra::Signs;

namespace {

/// Which signs sums can have, whatever the variables are. Demands on functions within are demands of their own, so the
/// values that those have here are ones where they are defined.
class SignReader {
 public:
  SignReader(const Statement& statement, bool points) : statement_(statement), points_(points) {}

  Signs signs(const Sum& sum, const Guards& given) {
    Signs all{false, true, false};
    for (const Product& product : sum) {
      Signs own = algebra::sign_of(static_cast<double>(product.coefficient.num));
      for (const Factor& factor : product.factors) own = own * signs(factor, joined(given, product.guards));
      const bool may_cancel = !product.bound.empty() && own.negative && own.positive;
      if (may_cancel || !has_point(product, given)) own.zero = true;
      all = all + own;
    }
    return all;
  }

  algebra::FunctionRange range(const Factor& application, const Guards& given) {
    std::vector<Signs> arguments;
    for (const Sum& argument : application.arguments) arguments.push_back(signs(argument, given));
    return algebra::range_of(statement_.function(application.symbol), arguments);
  }

  std::vector<Obligation> owed;

 private:
  Signs signs(const Factor& factor, const Guards& given) {
    switch (factor.kind) {
      case Factor::Kind::Inverse:
        return {false, false, true};
      case Factor::Kind::Apply:
        return range(factor, given).signs;
      case Factor::Kind::Max: {
        Signs own = signs(factor.arguments.at(0), joined(given, factor.guards));
        own.zero = true;  // of nothing
        return own;
      }
      case Factor::Kind::Read:
      case Factor::Kind::Whole:
        break;
    }
    return {};
  }

  /// A product without a point is 0. That its indices may all be 0 is owed, if points are asked for.
  bool has_point(const Product& product, const Guards& given) {
    if (product.guards.empty()) return true;
    if (!points_) return false;
    Images first;
    for (const Atom atom : product.bound) first[atom] = Poly(0);
    for (const Guard& guard : product.guards) {
      const Guard there{guard.equality, statement_.atoms().substitute(guard.poly, first)};
      if (there.equality || !statement_.atoms().nonnegative(there.poly))
        owed.push_back({"a sum has a point", given, there, {}, {}});
    }
    return true;
  }

  const Statement& statement_;
  bool points_;
};

/// A law f(−t) = ±f(t) says, too, that f is defined at −t where it is at t.
void follow_from(const Claim& claim, const Demand& demand, const Demand& other, const Guards& given,
                 Statement& statement, Kernel& kernel) {
  const Images at(claim.at.begin(), claim.at.end());
  const std::set<Atom> scope(demand.bound.begin(), demand.bound.end());
  if (at.size() != claim.at.size() || at.size() != other.bound.size())
    throw Objection{"a value for each index is expected"};
  for (const Atom atom : other.bound) {
    if (!at.contains(atom)) throw Objection{"an index of the other demand has no value"};
    kernel.check_scope(at.at(atom), scope);
  }
  Demand instance = other;
  instance.bound.clear();
  for_each_poly(instance, [&](Poly& poly) { poly = statement.atoms().substitute(poly, at); });
  for (const Guard& guard : instance.guards)
    kernel.owe({"the other side demands it, too", given, guard, {}, claim.times});
  const Factor &wanted = demand.factors.at(0), &found = instance.factors.at(0);
  if (wanted.symbol != found.symbol || claim.arguments.size() != wanted.arguments.size())
    throw Objection{"the demands are on different functions"};
  const bool opposite = claim.kind == Claim::Kind::Opposite;
  if (opposite && statement.function(wanted.symbol).parity == 0)
    throw Objection{"no law says how the function takes a change of sign"};
  for (std::size_t a = 0; a < wanted.arguments.size(); ++a) {
    const Sum there = opposite ? difference_of({}, found.arguments.at(a)) : found.arguments.at(a);
    kernel.empty(difference_of(wanted.arguments[a], there), {given, scope}, claim.arguments[a],
                 "the demands are not shown to be on one value");
  }
}

}  // namespace

std::optional<std::vector<Obligation>> met_by_signs(const Demand& demand, bool points, const Guards& given,
                                                    const Statement& statement) {
  SignReader reader(statement, points);
  if (!reader.range(demand.factors.at(0), given).defined) return std::nullopt;
  return std::move(reader.owed);
}

void follow(const Claim& claim, const Demand& demand, bool of_target, const Guards& given, Statement& statement,
            Kernel& kernel) {
  switch (claim.kind) {
    case Claim::Kind::Signs:
    case Claim::Kind::Points: {
      auto owed = met_by_signs(demand, claim.kind == Claim::Kind::Points, given, statement);
      if (!owed) throw Objection{"signs alone do not tell that it is defined: " + statement.text(demand)};
      for (Obligation& obligation : *owed) {
        obligation.times = claim.times;
        kernel.owe(std::move(obligation));
      }
      return;
    }
    case Claim::Kind::Empty:
      return kernel.owe({"a demand is not made", given, {}, {}, claim.times});
    case Claim::Kind::Split: {
      const Guard& guard = claim.guard.value();
      kernel.check_scope(guard.poly, {demand.bound.begin(), demand.bound.end()});
      Guards regions = complement(guard);
      regions.insert(regions.begin(), guard);
      if (claim.parts.size() != regions.size()) throw Objection{"a claim for each region is expected"};
      for (std::size_t i = 0; i < regions.size(); ++i)
        follow(claim.parts[i], demand, of_target, joined(given, {regions[i]}), statement, kernel);
      return;
    }
    case Claim::Kind::From:
    case Claim::Kind::Opposite: {
      const std::vector<Demand>& others = statement.demands(!of_target).all;
      if (claim.demand >= others.size()) throw Objection{"there is no such demand"};
      return follow_from(claim, demand, others[claim.demand], given, statement, kernel);
    }
  }
}

}  // namespace rulemill::check
