// Models of earlier queries of the same rule: values of sizes and indices. A model that also satisfies the next query
// answers it without a solver. Most satisfiable queries are answered this way.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "check/kernel/atoms.h"

namespace rulemill::prove {

// Queries as data: linear integer arithmetic over the monomials of polynomials. Products, floor divisions, minima and
// maxima are opaque integers; lemmas state their properties.

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

/// The value of a polynomial where sizes and indices have the values. Throws Error on a division by zero or an
/// overflow.
std::int64_t evaluate(const Poly& poly, const Atoms& atoms, const std::function<std::int64_t(Atom)>& value);

class Models {
 public:
  using Values = std::unordered_map<Atom, std::int64_t>;

  explicit Models(const Atoms& atoms) : atoms_(atoms) {}

  /// True if some stored model satisfies the query, where products and divisions have their true values.
  bool contains_model_of(const Query& query);
  /// The polynomial's value in the model that was used or added last; nothing if it has none.
  std::optional<std::int64_t> value(const Poly& poly) const;
  /// Stores the values if they satisfy the query. A solver's model may not, since products are opaque to it.
  void add(const Values& values, const Query& query);

 private:
  std::int64_t evaluate(const Values& values, const Poly& poly) const;
  bool satisfies(const Values& values, const Query& query) const;
  bool satisfies(const Values& values, const Guard& guard) const;

  const Atoms& atoms_;
  std::deque<Values> models_;  // most recently used first
};

}  // namespace rulemill::prove
