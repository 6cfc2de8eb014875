// Lowers an element of a term at symbolic indices to normal form, by the definitions of its operators.
#pragma once

#include <span>

#include "algebra/terms/typing.h"
#include "prove/normal_form/normal_form.h"
#include "prove/solver/solver.h"

namespace rulemill::prove {

class Lowering {
 public:
  Lowering(const algebra::TypedRule& rule, const algebra::TermBank& bank, Solver& solver, IndexSupply& supply)
      : rule_(rule), bank_(bank), solver_(solver), symbols_(solver.symbols()), supply_(supply) {}

  /// Returns the element of `term` at `index`, where the solver's assumptions hold.
  Sum element(algebra::TermId term, std::span<const Poly> index);
  /// Returns the uses of `functions` by the element's own operator, not by those below it, even if the result is
  /// multiplied by 0. Each product has one application as its factor, and the guards and bound indices around it.
  std::vector<Product> applications(algebra::TermId term, std::span<const Poly> index, std::vector<bool> functions);

 private:
  /// The definition of one node, at some indices.
  struct Frame {
    const algebra::OperatorInstance& instance;
    std::span<const algebra::TermId> arguments;
    std::vector<Poly> sizes;
    std::vector<Poly> indices;
  };

  Sum expression(const algebra::ScalarExpr& expr, Frame& frame, Guards& known);
  Sum read(const algebra::ScalarExpr& expr, Frame& frame, Guards& known);
  Sum sum(const algebra::ScalarExpr& expr, Frame& frame, Guards& known);
  Sum maximum(const algebra::ScalarExpr& expr, Frame& frame, Guards& known);
  Sum apply(const algebra::ScalarExpr& expr, Frame& frame, Guards& known);
  Sum cases(const algebra::ScalarExpr& expr, Frame& frame, Guards& known);
  Sum inverse(const Poly& divisor) const;
  Sum node_element(algebra::TermId term, std::span<const Poly> index, Guards& known);
  Sum definition(const algebra::TensorDefinition& tensor, std::span<const Poly> index, Frame& frame, Guards& known);

  void record_applications(const Sum& applied, const Guards& known);
  Guards bind(const algebra::ScalarExpr& expr, Frame& frame, std::vector<Atom>& bound);
  Poly value(const algebra::IndexExpr& expr, const Frame& frame) const;
  /// Multiplies the sum by [guards], and drops products whose guards cannot hold.
  Sum with_guards(Sum sum, const Guards& guards, const Guards& known);

  const algebra::TypedRule& rule_;
  const algebra::TermBank& bank_;
  Solver& solver_;
  Symbols& symbols_;
  IndexSupply& supply_;
  std::uint32_t depth_ = 0;       // of the nodes being lowered
  std::vector<Atom> enclosing_;   // bound indices of the sums and maxima being lowered
  std::vector<bool> is_partial_;  // by function, whether its uses are recorded; empty: none are
  std::vector<Product> applications_;
};

}  // namespace rulemill::prove
