// The result of joining one bucket of the fingerprints: candidates that are unique up to renaming, and counts. A class,
// and all renamings of a candidate, are in one bucket, so that buckets can be joined one by one, saved and added up.
#pragma once

#include <cstdint>
#include <vector>

#include "dedup/candidates/candidate_set.h"
#include "dedup/join/pairs.h"

namespace rulemill::dedup {

/// One rank's results of a bucket, or the sum of several buckets.
struct Bucket {
  std::uint64_t classes = 0;  // of two or more terms, or of one that equals a renaming of itself
  std::uint64_t pairs = 0;    // smallest member with each other member
  std::uint64_t unique_up_to_renaming = 0;
  std::vector<std::uint64_t> new_classes, by_type;  // see TermClasses
  std::vector<Alternative> alternatives;
  KeyedCandidates candidates;
};

/// The rows of all terms in the classes must be available. Stops early after an interrupt.
Bucket make_bucket(const TermRows& rows, const TermClasses& classes, const SupersededTerms& superseded,
                   const Vocabulary& vocabulary, const runtime::ThreadPool& thread_pool);

void add(Bucket& total, Bucket bucket);

runtime::Bytes to_bytes(const Bucket& bucket);
/// Adds all serialized buckets.
void add_from(Bucket& total, runtime::ByteView bytes);

}  // namespace rulemill::dedup
