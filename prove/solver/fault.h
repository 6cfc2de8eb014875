// Mistakes that a prover could have, for tests: each, switched on, makes it prove something false, which the checker of
// certificates must then catch.
#pragma once

#include <cstdint>

namespace rulemill::prove {

enum class Fault : std::uint8_t {
  None,
  RangeForgotten,         // a read outside its tensor is not zero
  ReductionShort,         // sums and maxima leave out the last value of an index
  CaseForgotten,          // a case is zero where its guard does not hold
  ComplementOff,          // where a guard does not hold begins one too late
  CellForgotten,          // a function is zero where a guard of its arguments does not hold
  SignForgotten,          // the target is added, not subtracted
  AnyMap,                 // bound indices are mapped onto others by maps that are not one-to-one
  QuotientOff,            // a quotient that guards fix is taken one too large
  DivisionUp,             // floor division with the wrong sign: it rounds up
  ZeroLaw,                // f(0) = 0 of every function
  ProductDropped,         // a product with guards is zero, nobody is asked
  CoefficientsForgotten,  // of coefficients the sign alone counts
  RegionsBelieved,        // maxima range over the same points, nobody is asked
  IndicesBelieved,        // reads of one tensor are at the same index, nobody is asked
  FactsStrict,            // a ≤ b of a condition is taken for a < b
  TightenedUp,            // g·p + c ≥ 0 is divided by g with c / g rounded up
  EqualityForgotten,      // an equality that an index was eliminated by is dropped
  ConditionForgotten,     // what was proved under a condition is said to hold without it
};

}  // namespace rulemill::prove
