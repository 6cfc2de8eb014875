// Classes of terms with equal fingerprints, found by exchanging records by fingerprint and sorting: one part of all
// fingerprints at a time, so that memory is bounded.
#pragma once

#include <cstdint>
#include <vector>

#include "dedup/term_rows.h"

namespace rulemill::dedup {

struct TermClasses {
  /// Classes that fell to this rank, each in id order, of two orbits or more or of a symmetric one.
  std::vector<std::vector<TermId>> classes;
  /// Over all ranks: values that the first members of classes have, under all names, if these are on level l.
  std::vector<std::uint64_t> new_values;
  /// Over all ranks: by type, terms under all their names.
  std::vector<std::uint64_t> by_type;
};

/// Collective.
TermClasses find_classes(const TermRows& rows, std::uint64_t part, std::uint64_t parts,
                         const runtime::Communicator& communicator);

/// Bound on the expected number of unequal pairs that share a fingerprint, Σ over types of n(n−1)/2 · ((d/p)² + 2^−62),
/// d the largest degree (Schwartz, Zippel; and the hash over the values).
double expected_false(const std::vector<std::uint64_t>& by_type, const std::vector<std::uint32_t>& degrees);

}  // namespace rulemill::dedup
