// Queries as data: linear integer arithmetic over the monomials of polynomials. Products, floor divisions, minima and
// maxima are opaque integers; lemmas state their properties.
#pragma once

#include <utility>
#include <vector>

#include "algebra/operators/expression.h"

namespace rulemill::prove {

using algebra::Rational;
using check::Atom;
using check::Atoms;
using check::Guard;
using check::Guards;
using check::Poly;

/// An implication that is true for all values of the opaque atoms: if all premises hold, so does the conclusion.
struct Lemma {
  Guards premises;
  Guard conclusion;
};

/// The question whether all of `asserted` can hold and the sum of coefficient · [guards] be nonzero; without
/// indicators, whether all of `asserted` can hold.
struct Query {
  Guards asserted;
  std::vector<std::pair<Rational, Guards>> indicators;
  std::vector<Lemma> lemmas;
};

}  // namespace rulemill::prove
