// Deduplication of candidates by canonical form. Candidates with size parameters are equal if their texts with symbolic
// sizes are equal. Of equal candidates, the one that is least likely to hold by coincidence is kept: the one with the
// most distinct dimensions.
#pragma once

#include <string>
#include <vector>

#include "dedup/candidates/candidate_graph.h"
#include "dedup/candidates/canonical.h"
#include "dedup/candidates/vocabulary.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/thread_pool.h"
#include "runtime/text/hash.h"

namespace rulemill::dedup {

// Candidates with symbolic sizes. Their text is what the prover gets; it is expensive to compute. Candidates that
// differ only in sizes nearly always have one text. The exceptions are splits: a split at the boundary of a concat
// below it has another text than one elsewhere. Comparisons of a few sizes show which of both it is.

/// Returns the outcomes of all comparisons of sizes on which typing depends. Well-typed candidates that differ only in
/// sizes have the same symbolic_text() if these outcomes are equal, too.
std::string size_comparisons(const CandidateGraph& graph, const Vocabulary& vocabulary);

/// Returns the candidate with symbolic sizes as text; empty if it is ill-typed.
std::string symbolic_text(const CandidateGraph& graph, const Vocabulary& vocabulary);

/// Returns the i-th candidate.
using CandidateSource = std::function<CandidateGraph(std::size_t i)>;

/// A candidate's key, and the criteria for choosing between candidates with equal keys.
struct CandidateKey {
  runtime::Hash128 key;          // high: hash of the canonical form; low: also of size_comparisons()
  std::uint32_t dimensions = 0;  // more is better
  std::uint32_t padding = 0;
  runtime::Hash128 exact;   // hash of the exact form; less is better
  std::uint64_t index = 0;  // in KeyedCandidates::packed
};

/// Candidates in canonical form and their keys.
struct KeyedCandidates {
  std::vector<CandidateKey> keys;  // distinct and ascending
  PackedCandidates packed;
};

/// Brings every candidate to the canonical form for any shapes, removes those with equal sides, and keeps one of each
/// key. `unique_up_to_renaming` receives the number of different exact forms. Stops early after an interrupt.
KeyedCandidates deduplicate(std::size_t count, const CandidateSource& source, const Vocabulary& vocabulary,
                            const runtime::ThreadPool& thread_pool, std::uint64_t* unique_up_to_renaming = nullptr);
/// Concatenates without deduplication.
void append(KeyedCandidates& candidates, KeyedCandidates more);

/// Serializes the candidates.
void append(runtime::Bytes& bytes, const KeyedCandidates& candidates);
/// Appends serialized candidates.
void read(runtime::ByteView& bytes, KeyedCandidates& candidates);

/// Collective. Keeps one of equal candidates over all ranks and distributes them by hash. Returns this rank's
/// candidates, in an order that depends only on the candidates.
PackedCandidates deduplicate_across_ranks(KeyedCandidates candidates, const Vocabulary& vocabulary,
                                          const runtime::ThreadPool& thread_pool,
                                          const runtime::Communicator& communicator);

}  // namespace rulemill::dedup
