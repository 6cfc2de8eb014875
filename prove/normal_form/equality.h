// Whether a normal form is zero everywhere: products that align are compared by their guards alone, and the solver
// decides that the coefficients of all that align sum to zero at every point.
#pragma once

#include "algebra/terms/term.h"
#include "prove/normal_form/align.h"
#include "prove/normal_form/normal_form.h"
#include "prove/solver/solver.h"

namespace rulemill::prove {

class Equality {
 public:
  Equality(const algebra::TermBank& bank, Solver& solver, IndexSupply& supply, AlignLimits limits = {});

  /// Shown: the sum is zero wherever the solver's facts and assumptions hold.
  bool zero(Sum sum);
  bool equal(const Sum& a, const Sum& b);
  bool same(const Factor& a, const Factor& b) { return head(a) == head(b) && same_factor(a, b); }
  /// The first product that nothing cancelled, in words; empty if none was left.
  const std::string& left_over() const { return left_over_; }

 private:
  /// A product with its bound indices mapped onto another's, factors equal to that one's.
  struct Aligned {
    Product product;
    bool everywhere = false;  // factors equal without the guards
  };

  std::vector<Aligned> alignments(const Product& product, const Product& onto, bool all);
  bool same_factors(const std::vector<FactorPair>& pairs, const Substitution& map, const Guards& both,
                    bool& everywhere);
  bool same_factor(const Factor& a, const Factor& b);
  bool same_maximum(const Factor& a, const Factor& b);
  bool cancel_group(Sum& sum);
  bool cancel_pair(Sum& sum);
  bool pairwise_equal(const std::vector<Aligned>& group);

  const algebra::TermBank& bank_;
  Solver& solver_;
  Symbols& symbols_;
  IndexSupply& supply_;
  AlignLimits limits_;
  std::vector<bool> commutative_;  // by function
  std::string left_over_;
};

}  // namespace rulemill::prove
