// Queries as data: linear integer arithmetic over the monomials of polynomials. Products, floor divisions, minima and
// maxima are opaque integers; lemmas state their properties.
#pragma once

#include <vector>

#include "check/kernel/guards.h"

namespace rulemill::prove {

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

/// The question whether all of `asserted` can hold.
struct Query {
  Guards asserted;
  std::vector<Lemma> lemmas;
};

}  // namespace rulemill::prove
