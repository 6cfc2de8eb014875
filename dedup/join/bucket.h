// The result of joining one bucket of the fingerprints: candidates that are unique up to renaming, and counts. A class,
// and all renamings of a candidate, are in one bucket, so that buckets can be joined one by one, saved and added up.
#pragma once

#include <cstdint>
#include <vector>

#include "dedup/candidates/candidate_set.h"
#include "dedup/candidates/canonical.h"
#include "dedup/terms/term_classes.h"
#include "runtime/mpi/thread_pool.h"

namespace rulemill::dedup {

// Pairing: from classes to raw candidates. The smallest member of a class is paired with each other member, and with
// its own renamings that have the same value. For nodes with several outputs, the terms that compute each output are
// combined.
//
// matmul(x, a) and matmul(x, b) are the two outputs of split(matmul(x, concat(a, b))): the class of the first output
// has the term matmul(x, a), that of the second matmul(x, b). Each is an alternative to its output, and one alternative
// for every output of the split gives a candidate with two outputs: (matmul(x, a), matmul(x, b)) ⇒ split(…).

/// source ⇒ target, as terms of the term table.
struct RawCandidate {
  BoundedList<RenamedTerm, max_graph_outputs> source, target;
};

/// A term that is equal to `output_term`, which is output `output` of node `node`.
struct Alternative {
  std::uint32_t node = 0;
  std::uint32_t output = 0;
  TermId output_term = 0;
  RenamedTerm equal_term;
};

/// The terms below the last level that are equal_term to an earlier term. Terms that use them are congruent to terms
/// that use the earlier ones. There are such terms only if all terms of a class are extended.
class SupersededTerms {
 public:
  explicit SupersededTerms(const TermRows& rows) : contains_(rows.first_of_level(rows.last_level()), false) {}
  /// Collective.
  void add(const TermRows& rows, const TermClasses& classes, const runtime::Communicator& communicator);
  bool contains(TermId t) const { return contains_[t]; }

 private:
  std::vector<bool> contains_;
};

/// Collective. Returns the candidates with several outputs, and fetches the rows of their terms.
std::vector<RawCandidate> find_multi_output_candidates(TermRows& rows, const std::vector<Alternative>& alternatives,
                                                       const Vocabulary& vocabulary, std::uint32_t max_ops,
                                                       const runtime::ThreadPool& thread_pool,
                                                       const runtime::Communicator& communicator);

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
