// Faults that tests inject into the prover. Each makes it prove a false rule, which the certificate checker must
// detect.
#pragma once

#include <cstdint>

namespace rulemill::prove {

enum class Fault : std::uint8_t {
  None,
  RangeGuardsDropped,     // a read outside its tensor is not zero
  ReductionOneShort,      // sums and maxima omit the last value of an index
  ElseCaseDropped,        // a case is zero where its guard does not hold
  ComplementOffByOne,     // the region where a guard does not hold starts one too late
  ComplementCellDropped,  // a function is zero where a guard of its arguments does not hold
  TargetNotNegated,       // the target is added instead of subtracted
  NonUnimodularMap,       // bound indices are mapped by maps that are not one-to-one
  QuotientOffByOne,       // a quotient that guards fix is one too large
  DivisionRoundsUp,       // floor division rounds up
  ZeroLawForAll,          // f(0) = 0 for every function
  GuardedProductDropped,  // a product with guards is zero, without a query
  CoefficientsIgnored,    // only the signs of coefficients are compared
  RangesAssumedEqual,     // the ranges of two maxima are equal, without a query
  IndicesAssumedEqual,    // reads of one tensor have equal indices, without a query
  FactsMadeStrict,        // a ≤ b in a condition becomes a < b
  GuardRoundedUp,         // g·p + c ≥ 0 is divided by g with c / g rounded up
  EqualityDropped,        // an equality is dropped after it eliminated an index
  ConditionDropped,       // a proved rule loses its condition
};

}  // namespace rulemill::prove
