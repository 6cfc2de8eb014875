// Equivalence classes: terms with equal fingerprints. Ranks exchange records by fingerprint and sort them. To bound
// memory, this is done for one partition of the fingerprints at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dedup/terms/term_rows.h"
#include "runtime/mpi/thread_pool.h"

namespace rulemill::dedup {

/// Returns how much `rank` sends to each rank, so that afterwards no rank has more than the average, rounded up.
/// `costs`: the cost of each rank's work. All ranks compute consistent transfers; a rank sends nothing to itself.
std::vector<std::uint64_t> transfers_from(const std::vector<std::uint64_t>& costs, std::size_t rank);

/// The classes of one bucket of fingerprints on one rank.
struct TermClasses {
  /// Members in id order. A class has at least two orbits, or one symmetric orbit.
  std::vector<std::vector<TermId>> classes;
  /// By level: the number of distinct values of all renamings of first members on that level.
  std::vector<std::uint64_t> new_classes;
  /// By type: the number of terms with all their renamings.
  std::vector<std::uint64_t> by_type;
};

/// Returns the bucket of a fingerprint.
inline std::uint64_t bucket_of(std::uint64_t low, std::uint64_t buckets) { return (low & 0xffffffffu) % buckets; }

/// Collective. Returns the classes of one partition by bucket. `buckets` is a multiple of `partitions`; the partition's
/// buckets are partition, partition + partitions, …. All ranks have about the same number of members of each bucket.
std::vector<TermClasses> find_classes(const TermRows& rows, std::uint64_t partition, std::uint64_t partitions,
                                      std::uint64_t buckets, const runtime::ThreadPool& thread_pool,
                                      const runtime::Communicator& communicator);

/// Returns an upper bound on the expected number of unequal pairs of terms with equal fingerprints:
/// Σ over types of n(n−1)/2 · ((d/p)² + 2^−62), where d is the largest degree (Schwartz–Zippel, and the hash of
/// values).
double expected_false_candidates(const std::vector<std::uint64_t>& by_type, const std::vector<std::uint32_t>& degrees);

}  // namespace rulemill::dedup
