// From terms to normal form: the element of a term at symbolic indices, by its operators' definitions alone.
#pragma once

#include <span>

#include "algebra/terms/typing.h"
#include "prove/normal_form/normal_form.h"
#include "prove/solver/solver.h"

namespace rulemill::prove {

/// Throws LimitReached where a normal form has more products than any that we care for.
void require_small(const Sum& sum);

class Lowering {
 public:
  Lowering(const algebra::TypedRule& rule, const algebra::TermBank& bank, Solver& solver, IndexSupply& supply)
      : rule_(rule), bank_(bank), solver_(solver), symbols_(solver.symbols()), supply_(supply) {}

  /// The element of `term` at `index`, where the solver's assumptions hold.
  Sum element(algebra::TermId term, std::span<const Poly> index);
  /// Where the element's own operator, not those below it, applies one of `functions`, whatever the result is
  /// multiplied with: each product has one application as its factor, its guards and bound indices say where.
  std::vector<Product> applications(algebra::TermId term, std::span<const Poly> index, std::vector<bool> functions);

 private:
  /// One node's definition being read at some indices.
  struct Frame {
    const algebra::Instance& instance;
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

  void note_partial(const Sum& applied, const Guards& known);
  Guards bind(const algebra::ScalarExpr& expr, Frame& frame, std::vector<Atom>& bound);
  Poly value(const algebra::IndexExpr& expr, const Frame& frame) const;
  /// The sum where the guards hold; what cannot hold is dropped.
  Sum guarded(Sum sum, const Guards& guards, const Guards& known);

  const algebra::TypedRule& rule_;
  const algebra::TermBank& bank_;
  Solver& solver_;
  Symbols& symbols_;
  IndexSupply& supply_;
  std::uint32_t nodes_ = 0;              // being lowered, one below the other
  std::vector<Atom> open_;               // bound indices of the sums and maxima being lowered
  std::vector<bool> partial_functions_;  // by function: whose applications are noted; none: of no function
  std::vector<Product> partial_;
};

}  // namespace rulemill::prove
