// Classes of terms with equal fingerprints, found by exchanging records by fingerprint prefix and sorting.
#pragma once

#include <cstdint>
#include <vector>

#include "dedup/term_rows.h"

namespace rulemill::dedup {

struct TermClasses {
  /// Classes of two or more that fell to this rank, each in id order.
  std::vector<std::vector<TermId>> classes;
  /// Over all ranks: classes whose first member is on level l.
  std::vector<std::uint64_t> new_values;
  /// Over all ranks: bound on the expected number of unequal pairs that share a fingerprint, Σ over types of
  /// n(n−1)/2 · ((d/p)² + 2^−62), d the largest degree (Schwartz, Zippel; and the hash over the values).
  double expected_false = 0;
};

/// Collective.
TermClasses find_classes(const TermRows& rows, const runtime::Communicator& communicator);

}  // namespace rulemill::dedup
