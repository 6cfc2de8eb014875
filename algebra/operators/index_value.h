// The value of an index expression as a polynomial, whatever table has its divisions, minima and maxima.
#pragma once

#include "algebra/operators/expression.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {

/// `sizes` and `indices` are addressed by slot. The table makes floor_div, min and max of two polynomials.
template <class Table>
Poly index_value(const IndexExpr& e, std::span<const Poly> sizes, std::span<const Poly> indices, Table& table) {
  using Kind = IndexExpr::Kind;
  if (e.kind == Kind::Constant) return e.value;
  if (e.kind == Kind::Size || e.kind == Kind::Index) {
    const std::span<const Poly> values = e.kind == Kind::Size ? sizes : indices;
    RM_CHECK(e.slot < values.size(), "an index expression over a slot that has no value here");
    return values[e.slot];
  }
  const Poly a = index_value(*e.a, sizes, indices, table), b = index_value(*e.b, sizes, indices, table);
  switch (e.kind) {
    case Kind::Add:
      return a + b;
    case Kind::Sub:
      return a - b;
    case Kind::Mul:
      return a * b;
    case Kind::Div:
      return table.floor_div(a, b);
    case Kind::Mod:
      return a - b * table.floor_div(a, b);
    case Kind::Min:
      return table.min(a, b);
    default:
      return table.max(a, b);
  }
}

}  // namespace rulemill::algebra
