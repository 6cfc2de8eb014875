// Decides whether a normal form is zero everywhere. The solver decides whether the coefficients of aligned products sum
// to zero at every point.
#pragma once

#include "algebra/terms/term.h"
#include "prove/normal_form/align.h"
#include "prove/normal_form/normal_form.h"
#include "prove/solver/solver.h"

namespace rulemill::prove {

/// Equality of normal forms.
class Equality {
 public:
  Equality(const algebra::TermBank& bank, Solver& solver, IndexSupply& supply, AlignmentLimits limits = {});

  /// True if it is shown that the sum is zero wherever the solver's facts and assumptions hold.
  bool is_zero(Sum sum);
  bool are_equal(const Sum& a, const Sum& b);
  bool are_equal(const Factor& a, const Factor& b) { return head(a) == head(b) && have_equal_arguments(a, b); }
  /// The first product that did not cancel, as text; empty if all did.
  const std::string& uncancelled_product() const { return uncancelled_product_; }

 private:
  /// A product with its bound indices mapped to those of another, whose factors it then has.
  struct Alignment {
    Product product;
    bool unconditional = false;  // the factors are equal without the guards
  };

  std::vector<Alignment> alignments(const Product& product, const Product& onto, bool all);
  bool have_equal_factors(const std::vector<FactorPair>& pairs, const Substitution& map, const Guards& both,
                          bool& unconditional);
  bool have_equal_arguments(const Factor& a, const Factor& b);
  bool are_equal_maxima(const Factor& a, const Factor& b);
  bool cancel_group(Sum& sum);
  bool cancel_pair(Sum& sum);
  bool are_pairwise_equal(const std::vector<Alignment>& group);

  const algebra::TermBank& bank_;
  Solver& solver_;
  Symbols& symbols_;
  IndexSupply& supply_;
  AlignmentLimits limits_;
  std::vector<bool> commutative_;  // by function
  std::string uncancelled_product_;
};

}  // namespace rulemill::prove
