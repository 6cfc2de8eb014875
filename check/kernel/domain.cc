// Proofs that both sides of a rule are defined for the same values of the variables. A side is defined where all of its
// definedness conditions hold. Each condition of one side must follow from those of the other.
#include <algorithm>

#include "algebra/operators/function_domain.h"
#include "check/kernel/proof.h"

namespace rulemill::check {

using algebra::Signs;

namespace {

/// The signs that sums can have, for all values of the variables. Functions in them have conditions of their own, so
/// their values here are those where they are defined.
class SignAnalysis {
 public:
  SignAnalysis(const Statement& statement, bool nonempty) : statement_(statement), nonempty_(nonempty) {}

  Signs signs(const Sum& sum, const Guards& given) {
    Signs all{false, true, false};
    for (const Product& product : sum) {
      Signs own = algebra::sign_of(static_cast<double>(product.coefficient.num));
      for (const Factor& factor : product.factors) own = own * signs(factor, conjunction(given, product.guards));
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

  std::vector<Obligation> obligations;

 private:
  Signs signs(const Factor& factor, const Guards& given) {
    switch (factor.kind) {
      case Factor::Kind::Inverse:
        return {false, false, true};
      case Factor::Kind::Apply:
        return range(factor, given).signs;
      case Factor::Kind::Max: {
        Signs own = signs(factor.arguments.at(0), conjunction(given, factor.guards));
        own.zero = true;  // of an empty range
        return own;
      }
      case Factor::Kind::Read:
      case Factor::Kind::Integer:
        break;
    }
    return {};
  }

  /// A product whose guards hold nowhere is 0. With `nonempty_`, that they hold where all indices are 0 is an
  /// obligation.
  bool has_point(const Product& product, const Guards& given) {
    if (product.guards.empty()) return true;
    if (!nonempty_) return false;
    Images origin;
    for (const Atom atom : product.bound) origin[atom] = Poly(0);
    for (const Guard& guard : product.guards) {
      const Guard goal{guard.equality, statement_.atoms().substitute(guard.poly, origin)};
      if (goal.equality || !statement_.atoms().is_nonnegative(goal.poly))
        obligations.push_back({"a sum has a point", given, goal, {}, {}});
    }
    return true;
  }

  const Statement& statement_;
  bool nonempty_;
};

/// Checks a proof by condition `other` of the other side. A law f(−t) = ±f(t) also states that f is defined at −t where
/// it is at t.
void check_by_other(const DefinednessProof& proof, const DefinednessCondition& condition,
                    const DefinednessCondition& other, const Guards& given, Statement& statement, Kernel& kernel) {
  const Images images(proof.images.begin(), proof.images.end());
  const std::set<Atom> scope(condition.bound.begin(), condition.bound.end());
  if (images.size() != proof.images.size() || images.size() != other.bound.size())
    throw CheckError{"expected a value for each index of the other condition"};
  for (const Atom atom : other.bound) {
    if (!images.contains(atom)) throw CheckError{"an index of the other condition has no value"};
    kernel.check_scope(images.at(atom), scope);
  }
  DefinednessCondition instance = other;
  instance.bound.clear();
  for_each_poly(instance, [&](Poly& poly) { poly = statement.atoms().substitute(poly, images); });
  for (const Guard& guard : instance.guards)
    kernel.require({"the other side has the condition, too", given, guard, {}, proof.lemmas});
  const Factor &wanted = condition.factors.at(0), &found = instance.factors.at(0);
  if (wanted.symbol != found.symbol || proof.argument_steps.size() != wanted.arguments.size())
    throw CheckError{"the conditions are on different functions"};
  const bool negated = proof.kind == DefinednessProof::Kind::Parity;
  if (negated && statement.function(wanted.symbol).parity == 0) throw CheckError{"the function has no parity law"};
  for (std::size_t a = 0; a < wanted.arguments.size(); ++a) {
    const Sum argument = negated ? subtract({}, found.arguments.at(a)) : found.arguments.at(a);
    kernel.check_vanishes(subtract(wanted.arguments[a], argument), {given, scope}, proof.argument_steps[a],
                          "the conditions are not shown to be on equal arguments");
  }
}

}  // namespace

std::optional<std::vector<Obligation>> check_by_signs(const DefinednessCondition& condition, bool nonempty,
                                                      const Guards& given, const Statement& statement) {
  SignAnalysis analysis(statement, nonempty);
  if (!analysis.range(condition.factors.at(0), given).defined) return std::nullopt;
  return std::move(analysis.obligations);
}

void check_definedness(const DefinednessProof& proof, const DefinednessCondition& condition, bool of_target,
                       const Guards& given, Statement& statement, Kernel& kernel) {
  switch (proof.kind) {
    case DefinednessProof::Kind::Signs:
    case DefinednessProof::Kind::NonemptySigns: {
      auto obligations =
          check_by_signs(condition, proof.kind == DefinednessProof::Kind::NonemptySigns, given, statement);
      if (!obligations) throw CheckError{"the signs do not imply that it is defined: " + statement.text(condition)};
      for (Obligation& obligation : *obligations) {
        obligation.lemmas = proof.lemmas;
        kernel.require(std::move(obligation));
      }
      return;
    }
    case DefinednessProof::Kind::Vacuous:
      return kernel.require({"a definedness condition is vacuous", given, {}, {}, proof.lemmas});
    case DefinednessProof::Kind::Split: {
      const Guard& guard = proof.guard.value();
      kernel.check_scope(guard.poly, {condition.bound.begin(), condition.bound.end()});
      Guards regions = complement(guard);
      regions.insert(regions.begin(), guard);
      if (proof.cases.size() != regions.size()) throw CheckError{"expected a proof for each region"};
      for (std::size_t i = 0; i < regions.size(); ++i) {
        const Guards within = conjunction(given, {regions[i]});
        check_definedness(proof.cases[i], condition, of_target, within, statement, kernel);
      }
      return;
    }
    case DefinednessProof::Kind::Equality:
    case DefinednessProof::Kind::Parity: {
      const std::vector<DefinednessCondition>& others = statement.definedness_conditions(!of_target).all;
      if (proof.condition >= others.size()) throw CheckError{"the other side has no such condition"};
      return check_by_other(proof, condition, others[proof.condition], given, statement, kernel);
    }
  }
}

}  // namespace rulemill::check
