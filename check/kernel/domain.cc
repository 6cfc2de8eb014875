// Proofs that both sides of a rule are defined for the same values of the variables. A side is defined where all of its
// definedness conditions hold. Each condition of one side must follow from those of the other.
#include <algorithm>

#include "check/kernel/proof.h"

namespace rulemill::check {

using algebra::Signs;

namespace {

/// The signs that sums can have, for all values of the variables. An undefined value is 0, or else it is left out,
/// since functions in a definedness condition have conditions of their own.
class SignAnalysis {
 public:
  SignAnalysis(const Statement& statement, bool nonempty, bool undefined_is_zero)
      : statement_(statement), nonempty_(nonempty), undefined_is_zero_(undefined_is_zero) {}

  Signs signs(const Sum& sum, const Guards& given) {
    Signs all{false, true, false};
    for (const Product& product : sum) {
      Signs own = algebra::sign_of(static_cast<double>(product.coefficient.num));
      for (const Factor& factor : product.factors) {
        const bool is_square = std::ranges::count(product.factors, factor) % 2 == 0;
        const Signs of = signs(factor, conjunction(given, product.guards));
        own = own * (is_square ? algebra::square(of) : of);
      }
      const bool may_cancel = !product.bound.empty() && own.negative && own.positive;
      if (may_cancel || !has_point(product, given)) own.zero = true;
      all = all + own;
    }
    all.natural = std::ranges::all_of(sum, [](const Product& product) {
      return product.factors.empty() && product.bound.empty() && product.coefficient.den == 1 &&
             product.coefficient.num >= 0;
    });
    return all;
  }

  Signs signs(const Factor& factor, const Guards& given) {
    if (factor.kind == Factor::Kind::Inverse) return algebra::sign_of(1);
    if (factor.kind == Factor::Kind::Apply) return range(factor, given).signs;
    if (factor.kind != Factor::Kind::Max) return {};
    Signs own = signs(factor.arguments.at(0), conjunction(given, factor.guards));
    own.zero = true;  // of an empty range
    return own;
  }

  algebra::FunctionRange range(const Factor& application, const Guards& given) {
    std::vector<Signs> arguments;
    for (const Sum& argument : application.arguments) arguments.push_back(signs(argument, given));
    algebra::FunctionRange range = algebra::range_of(statement_.function(application.symbol), arguments);
    range.signs.zero = range.signs.zero || (undefined_is_zero_ && !range.defined);
    return range;
  }

  std::vector<Obligation> obligations;

 private:
  /// A product whose guards hold nowhere is 0. With `nonempty_`, that they hold where all indices are 0 is an
  /// obligation.
  bool has_point(const Product& product, const Guards& given) {
    if (product.guards.empty()) return true;
    if (!nonempty_) return false;
    Images origin;
    for (const Atom atom : product.bound) origin[atom] = Poly(0);
    for (const Guard& guard : product.guards) {
      const Guard goal = statement_.atoms().substitute(guard, origin);
      if (goal.equality || !statement_.atoms().is_nonnegative(goal.poly))
        obligations.push_back({"a sum has a point", given, goal, {}, {}});
    }
    return true;
  }

  const Statement& statement_;
  bool nonempty_, undefined_is_zero_;
};

/// Checks a proof by condition `other` of the other side. A law f(−t) = ±f(t) also states that f is defined at −t where
/// it is at t.
void check_by_other(const DefinednessProof& proof, const DefinednessCondition& condition, DefinednessCondition other,
                    const Guards& given, Statement& statement, Kernel& kernel) {
  const Images images(proof.images.begin(), proof.images.end());
  const Kernel::Context context{given, {condition.bound.begin(), condition.bound.end()}};
  expect(images.size() == proof.images.size() && images.size() == other.bound.size(),
         "expected a value for each index of the other condition");
  for (const Atom atom : other.bound) expect(images.contains(atom), "an index of the other condition has no value");
  other.bound.clear();
  for_each_poly(other, [&](Poly& poly) { poly = statement.atoms().substitute(poly, images); });
  for (const Guard& guard : other.guards)
    kernel.require({"the other side has the condition, too", given, guard, {}, proof.lemmas});
  const Factor &wanted = condition.factors.at(0), &found = other.factors.at(0);
  expect(wanted.symbol == found.symbol && proof.argument_steps.size() == wanted.arguments.size(),
         "the conditions are on different functions");
  const bool negated = proof.kind == DefinednessProof::Kind::Parity;
  expect(!negated || statement.function(wanted.symbol).parity != 0, "the function has no parity law");
  for (std::size_t a = 0; a < wanted.arguments.size(); ++a) {
    const Sum argument = negated ? subtract({}, found.arguments.at(a)) : found.arguments.at(a);
    kernel.check_vanishes(subtract(wanted.arguments[a], argument), context, proof.argument_steps[a],
                          "the conditions are not shown to be on equal arguments");
  }
}

}  // namespace

Signs signs_of(const Factor& factor, const Statement& statement) {
  return SignAnalysis(statement, false, true).signs(factor, {});
}

std::optional<std::vector<Obligation>> check_by_signs(const Factor& application, bool nonempty, bool undefined_is_zero,
                                                      const Guards& given, const Statement& statement) {
  SignAnalysis analysis(statement, nonempty, undefined_is_zero);
  if (!analysis.range(application, given).defined) return std::nullopt;
  return std::move(analysis.obligations);
}

void check_definedness(const DefinednessProof& proof, const DefinednessCondition& condition, bool of_target,
                       const Guards& given, Statement& statement, Kernel& kernel) {
  using Kind = DefinednessProof::Kind;
  const std::set<Atom> scope(condition.bound.begin(), condition.bound.end());
  if (proof.guard) kernel.check_scope(proof.guard->poly, scope);
  for (const auto& [atom, value] : proof.images) kernel.check_scope(value, scope);
  kernel.check_scope(proof.lemmas, condition, scope);
  switch (proof.kind) {
    case Kind::Signs:
    case Kind::NonemptySigns:
      return kernel.require_defined(condition.factors.at(0), proof.kind == Kind::NonemptySigns, false, given,
                                    proof.lemmas);
    case Kind::Vacuous:
      return kernel.require({"a definedness condition is vacuous", given, {}, {}, proof.lemmas});
    case Kind::Split: {
      const Guard& guard = proof.guard.value();
      const Guards regions = conjunction({guard}, complement(guard));
      for (std::size_t i = 0; i < regions.size(); ++i)
        check_definedness(at(proof.cases, i, "case"), condition, of_target, conjunction(given, {regions[i]}), statement,
                          kernel);
      return;
    }
    case Kind::Equality:
    case Kind::Parity: {
      const std::vector<DefinednessCondition>& others = statement.definedness_conditions(!of_target).all;
      return check_by_other(proof, condition, at(others, proof.condition, "condition"), given, statement, kernel);
    }
  }
}

}  // namespace rulemill::check
