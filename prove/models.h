// Sizes and indices that satisfied earlier queries of the same rule: one that satisfies the next query, too, answers it
// without a solver. Most satisfiable queries end here.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "prove/query.h"

namespace rulemill::prove {

class Models {
 public:
  using Values = std::unordered_map<Atom, std::int64_t>;

  explicit Models(const Symbols& symbols) : symbols_(symbols) {}

  void clear() { models_.clear(); }
  /// Whether some known model satisfies the query; products and divisions have their true values.
  bool satisfy(const Query& query);
  /// Keeps the values if they satisfy the query: a solver's model need not, since products are opaque to it.
  void add(const Values& values, const Query& query);

 private:
  bool satisfies(const Values& values, const Query& query) const;
  bool satisfies(const Values& values, const Guard& guard) const;

  const Symbols& symbols_;
  std::deque<Values> models_;  // the one that was of use last comes first
};

}  // namespace rulemill::prove
