// Classes of terms with equal fingerprints, found by exchanging records by fingerprint and sorting: one part of all
// fingerprints at a time, so that memory is bounded.
#pragma once

#include <cstdint>
#include <vector>

#include "dedup/term_rows.h"

namespace rulemill::dedup {

/// What fell to this rank of the fingerprints, or of a slice of them.
struct TermClasses {
  /// Each in id order, of two orbits or more or of a symmetric one.
  std::vector<std::vector<TermId>> classes;
  /// Values that the first members of classes have, under all names, if these are on level l.
  std::vector<std::uint64_t> new_values;
  /// By type, terms under all their names.
  std::vector<std::uint64_t> by_type;
};

/// The number of the slice, of `slices`, in which a fingerprint lies.
inline std::uint64_t slice_of(std::uint64_t low, std::uint64_t slices) { return (low & 0xffffffffu) % slices; }

/// Collective. By slice of `slices`, a multiple of `parts`: the classes of part `part`, which are slices part, part +
/// parts, …. Every rank has about as many members of each slice's classes as every other.
std::vector<TermClasses> find_classes(const TermRows& rows, std::uint64_t part, std::uint64_t parts,
                                      std::uint64_t slices, const runtime::Communicator& communicator);

/// Bound on the expected number of unequal pairs that share a fingerprint, Σ over types of n(n−1)/2 · ((d/p)² + 2^−62),
/// d the largest degree (Schwartz, Zippel; and the hash over the values).
double expected_false(const std::vector<std::uint64_t>& by_type, const std::vector<std::uint32_t>& degrees);

}  // namespace rulemill::dedup
