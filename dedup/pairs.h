// From classes to raw candidates: the smallest member of a class with each other one and with those
// of its own renamings that have its value, and, for nodes with several outputs, the terms that compute the same
// outputs one by one.
//
// matmul(x, a) and matmul(x, b) are the two outputs of split(matmul(x, concat(a, b))): the class of the first output
// has the term matmul(x, a), that of the second matmul(x, b). Each is an alternative of its output, and one alternative
// for every output of the split makes a candidate of two outputs: (matmul(x, a), matmul(x, b)) ⇒ split(…).
#pragma once

#include <vector>

#include "dedup/canonical.h"
#include "dedup/term_classes.h"
#include "runtime/workers.h"

namespace rulemill::dedup {

/// source ⇒ target, as terms of the table.
struct RawCandidate {
  BoundedList<Occurrence, most_graph_outputs> source, target;
};

/// A term that equals output `output` of node `node`, term `self`.
struct Alternative {
  std::uint32_t node = 0;
  std::uint32_t output = 0;
  TermId self = 0;
  Occurrence equal;
};

struct RawPairs {
  std::vector<std::pair<Occurrence, Occurrence>> pairs;  // source, target
  std::vector<Alternative> alternatives;
};

/// Terms below the last level that an earlier one equals, by term: what uses them is congruent to what uses the
/// earlier. Collective. There are some only if classes are not represented by one term when they are extended.
class Superseded {
 public:
  explicit Superseded(const TermRows& rows) : is_(rows.first_of_level(rows.last_level()), false) {}
  void add(const TermRows& rows, const TermClasses& classes, const runtime::Communicator& communicator);
  bool operator[](TermId t) const { return is_[t]; }

 private:
  std::vector<bool> is_;
};

/// Of classes of this rank; the rows of every term that occurs are at hand. Left early as run_unless_stopped() is.
RawPairs pair_terms(const TermRows& rows, const TermClasses& classes, const Superseded& superseded,
                    const Vocabulary& words, const runtime::Workers& workers);

/// Collective. Candidates of several outputs. The rows of every term that occurs are fetched.
std::vector<RawCandidate> combine(TermRows& rows, const std::vector<Alternative>& alternatives, const Vocabulary& words,
                                  std::uint32_t max_ops, const runtime::Workers& workers,
                                  const runtime::Communicator& communicator);

}  // namespace rulemill::dedup
