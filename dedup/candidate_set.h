// Candidates of all ranks with one of each key kept: the one whose equality is least due to chance, then the first.
#pragma once

#include <string>
#include <vector>

#include "dedup/canonical.h"
#include "dedup/pairs.h"
#include "runtime/communicator.h"
#include "runtime/hash.h"
#include "runtime/workers.h"

namespace rulemill::dedup {

/// Candidates as bytes: many wait at once.
using PackedCandidates = std::vector<std::string>;
std::string pack(const CandidateGraph& graph);
CandidateGraph unpack(const std::string& packed);

/// Makes the i-th candidate.
using CandidateSource = std::function<CandidateGraph(std::size_t i)>;

/// What deciding between candidates of one key needs.
struct CandidateKey {
  runtime::Hash128 key;
  std::uint32_t dimensions = 0;  // more is better
  std::uint32_t unused = 0;
  runtime::Hash128 exact;   // then the smaller: of the form with its types
  std::uint64_t index = 0;  // where the candidate is
};

/// Candidates in canonical form, with their keys: one of each key, in the keys' order.
struct KeyedCandidates {
  std::vector<CandidateKey> keys;
  PackedCandidates packed;  // by the keys' index
};

/// Brings every candidate to canonical form for any shapes, drops those whose sides are the same, and keeps one of each
/// key; `renamings_apart` is how many were no renamings of each other. Left early as run_unless_stopped() is.
KeyedCandidates best_of(std::size_t count, const CandidateSource& source, const Vocabulary& words,
                        const runtime::Workers& workers, std::uint64_t* renamings_apart = nullptr);
/// Adds others; best_of_all() keeps one of each key.
void append(KeyedCandidates& candidates, KeyedCandidates more);

void append(runtime::Bytes& bytes, const KeyedCandidates& candidates);
/// Adds what the above has appended.
void read(runtime::ByteView& bytes, KeyedCandidates& candidates);

/// Collective. One of each key over all ranks. Keys are spread over ranks by their hash; the result, in an order that
/// depends on the candidates alone, is this rank's part.
PackedCandidates best_of_all(KeyedCandidates candidates, const runtime::Communicator& communicator);

}  // namespace rulemill::dedup
