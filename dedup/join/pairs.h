// Pairing: from classes to raw candidates. The smallest member of a class is paired with each other member, and with
// its own renamings that have the same value. For nodes with several outputs, the terms that compute each output are
// combined.
//
// matmul(x, a) and matmul(x, b) are the two outputs of split(matmul(x, concat(a, b))): the class of the first output
// has the term matmul(x, a), that of the second matmul(x, b). Each is an alternative to its output, and one alternative
// for every output of the split gives a candidate with two outputs: (matmul(x, a), matmul(x, b)) ⇒ split(…).
#pragma once

#include <vector>

#include "dedup/candidates/canonical.h"
#include "dedup/terms/term_classes.h"
#include "runtime/mpi/thread_pool.h"

namespace rulemill::dedup {

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

struct RawPairs {
  std::vector<std::pair<RenamedTerm, RenamedTerm>> pairs;  // source, target
  std::vector<Alternative> alternatives;
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

/// Pairs the terms of this rank's classes. The rows of all members must be available. Stops early after an interrupt.
RawPairs pair_terms(const TermRows& rows, const TermClasses& classes, const SupersededTerms& superseded,
                    const Vocabulary& vocabulary, const runtime::ThreadPool& thread_pool);

/// Collective. Returns the candidates with several outputs, and fetches the rows of their terms.
std::vector<RawCandidate> find_multi_output_candidates(TermRows& rows, const std::vector<Alternative>& alternatives,
                                                       const Vocabulary& vocabulary, std::uint32_t max_ops,
                                                       const runtime::ThreadPool& thread_pool,
                                                       const runtime::Communicator& communicator);

}  // namespace rulemill::dedup
