// Whether two sides are undefined at the same points. A partial function (a quotient, a root) demands that its argument
// lies in its domain wherever a tensor of a side applies it, whatever becomes of the result; the sides agree if each
// one's demands follow from the other's.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "algebra/language/function_domain.h"
#include "algebra/terms/typing.h"
#include "prove/normal_form/equality.h"

namespace rulemill::prove {

/// For all values of `bound` at which `guards` hold, the one factor, an application, is defined. Its coefficient is 1.
using Demand = Product;

/// Which of the functions are not defined everywhere.
std::vector<bool> partial_functions(std::span<const algebra::Function> functions);
/// Whether an operator of the rule applies one of them.
bool applies(const algebra::TypedRule& rule, const algebra::TermBank& bank, const std::vector<bool>& functions);
/// All that the tensors of one side demand, in all of their elements.
std::vector<Demand> demands_of(const std::vector<algebra::TermId>& side, const algebra::TypedRule& rule,
                               const algebra::TermBank& bank, Solver& solver, IndexSupply& supply);

class Definedness {
 public:
  /// Asked whether a sum is zero, wherever the solver's facts and assumptions hold, where normal forms do not show it.
  using Zero = std::function<bool(const Sum&)>;
  Definedness(const algebra::TermBank& bank, Solver& solver, IndexSupply& supply, Equality& equality,
              AlignLimits limits = {}, Zero by_laws = {});

  /// Shown: where all of `given` are met, so are all of `wanted`.
  bool follow(const std::vector<Demand>& wanted, const std::vector<Demand>& given);
  /// The first demand that was not shown to follow, in words.
  const std::string& left_over() const { return left_over_; }

 private:
  bool follows(Demand wanted, const std::vector<Demand>& given, int depth);
  bool follows_from(const Demand& wanted, const Demand& given, const std::vector<Demand>& all, int depth);
  std::vector<Substitution> witnesses(const Demand& wanted, const Demand& given);
  bool same(const Factor& a, const Factor& b);
  bool is_met(const Factor& application);
  algebra::Signs signs(const Sum& sum);
  algebra::Signs signs(const Factor& factor);
  bool has_a_point(const Product& product);

  const algebra::TermBank& bank_;
  Solver& solver_;
  Symbols& symbols_;
  IndexSupply& supply_;
  Equality& equality_;
  AlignLimits limits_;
  Zero by_laws_;
  std::vector<bool> commutative_;  // by function
  std::string left_over_;
};

}  // namespace rulemill::prove
