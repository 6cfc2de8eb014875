// From terms to normal form: the element of a term at symbolic indices, by its operators' definitions alone.
#pragma once

#include <span>

#include "algebra/terms/typing.h"
#include "prove/normal_form/normal_form.h"
#include "prove/solver/solver.h"

namespace rulemill::prove {

/// Thrown nowhere else: the normal form grew beyond its bound.
struct TooLarge {
  std::size_t products = 0;
};

class Lowering {
 public:
  Lowering(const algebra::TypedRule& rule, const algebra::TermBank& bank, Solver& solver, IndexSupply& supply)
      : rule_(rule), bank_(bank), solver_(solver), symbols_(solver.symbols()), supply_(supply) {}

  /// The element of `term` at `index`, where the solver's assumptions hold.
  Sum element(algebra::TermId term, std::span<const Poly> index);

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

  Guards bind(const algebra::ScalarExpr& expr, Frame& frame, std::vector<Atom>& bound);
  Poly value(const algebra::IndexExpr& expr, const Frame& frame) const;
  /// The sum where the guards hold; what cannot hold is dropped.
  Sum guarded(Sum sum, const Guards& guards, const Guards& known);

  const algebra::TypedRule& rule_;
  const algebra::TermBank& bank_;
  Solver& solver_;
  Symbols& symbols_;
  IndexSupply& supply_;
};

}  // namespace rulemill::prove
