// Sizes and indices that satisfied earlier queries of the same rule: one that satisfies the next query, too, answers it
// without a solver. Most satisfiable queries end here.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "prove/solver/query.h"

namespace rulemill::prove {

class Models {
 public:
  using Values = std::unordered_map<Atom, std::int64_t>;

  explicit Models(const Symbols& symbols) : symbols_(symbols) {}

  void clear() { models_.clear(); }
  /// Whether some known model satisfies the query; products and divisions have their true values.
  bool satisfy(const Query& query);
  /// The polynomial's value in the model that was of use or added last; nothing if it has none.
  std::optional<std::int64_t> value(const Poly& poly) const;
  /// Keeps the values if they satisfy the query: a solver's model need not, since products are opaque to it.
  void add(const Values& values, const Query& query);

 private:
  std::int64_t evaluate(const Values& values, const Poly& poly) const;
  bool satisfies(const Values& values, const Query& query) const;
  bool satisfies(const Values& values, const Guard& guard) const;

  const Symbols& symbols_;
  std::deque<Values> models_;  // the one that was of use last comes first
};

}  // namespace rulemill::prove
