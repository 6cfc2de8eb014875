// Decides whether two sides are defined at the same points. Each use of a partial function (a quotient, a root) in a
// tensor of a side has the condition that its argument is in the domain, even if the result is not used. The sides
// agree if the conditions of each follow from those of the other.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "algebra/operators/function_domain.h"
#include "algebra/terms/typing.h"
#include "prove/normal_form/equality.h"

namespace rulemill::prove {

/// The condition that the one factor, a function application, is defined for all `bound` at which `guards` hold. Its
/// coefficient is 1.
using DefinednessCondition = Product;

/// Returns, by function, whether it is not defined everywhere.
std::vector<bool> find_partial_functions(std::span<const algebra::Function> functions);
/// True if an operator of the rule uses one of the functions.
bool uses_any(const algebra::TypedRule& rule, const algebra::TermBank& bank, const std::vector<bool>& functions);
/// Returns the conditions of all elements of all tensors of one side.
std::vector<DefinednessCondition> collect_definedness_conditions(const std::vector<algebra::TermId>& side,
                                                                 const algebra::TypedRule& rule,
                                                                 const algebra::TermBank& bank, Solver& solver,
                                                                 IndexSupply& supply);

/// Implications between definedness conditions.
class Definedness {
 public:
  /// Returns true if it shows that a sum is zero wherever the solver's facts and assumptions hold; called where normal
  /// forms do not show it.
  using IsZero = std::function<bool(const Sum&)>;
  Definedness(const algebra::TermBank& bank, Solver& solver, IndexSupply& supply, Equality& equality,
              AlignmentLimits limits = {}, IsZero by_laws = {});

  /// True if it is shown that all of `wanted` hold where all of `given` do.
  bool all_follow(const std::vector<DefinednessCondition>& wanted, const std::vector<DefinednessCondition>& given);
  /// The first condition that was not shown to follow, as text.
  const std::string& unproved_condition() const { return unproved_condition_; }

 private:
  bool follows(DefinednessCondition wanted, const std::vector<DefinednessCondition>& given, int depth);
  bool follows_from(const DefinednessCondition& wanted, const DefinednessCondition& given,
                    const std::vector<DefinednessCondition>& all, int depth);
  std::vector<Substitution> witnesses(const DefinednessCondition& wanted, const DefinednessCondition& given);
  bool are_equal(const Factor& a, const Factor& b);
  bool is_defined_by_signs(const Factor& application);
  algebra::Signs signs(const Sum& sum);
  algebra::Signs signs(const Factor& factor);
  bool has_point(const Product& product);

  const algebra::TermBank& bank_;
  Solver& solver_;
  Symbols& symbols_;
  IndexSupply& supply_;
  Equality& equality_;
  AlignmentLimits limits_;
  IsZero is_zero_by_laws_;
  std::vector<bool> commutative_;  // by function
  std::string unproved_condition_;
};

}  // namespace rulemill::prove
