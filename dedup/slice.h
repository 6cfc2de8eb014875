// What a slice of the fingerprints gives: raw candidates that are no renamings of each other, and its share of the
// counts. Classes, and the renamings of a candidate, lie in one slice, so slices are made one by one, saved, and added
// up.
#pragma once

#include <cstdint>
#include <vector>

#include "dedup/candidate_set.h"
#include "dedup/pairs.h"

namespace rulemill::dedup {

/// Of this rank.
struct Slice {
  std::uint64_t classes = 0;                       // of two or more terms, or of one that equals a renaming of itself
  std::uint64_t pairs = 0;                         // smallest member with each other one
  std::uint64_t renamed = 0;                       // one of all renamings
  std::vector<std::uint64_t> new_values, by_type;  // as TermClasses has them
  std::vector<Alternative> alternatives;
  KeyedCandidates candidates;
};

/// The rows of every term in the classes are at hand. Left early as run_unless_stopped() is.
Slice make_slice(const TermRows& rows, const TermClasses& classes, const Superseded& superseded,
                 const Vocabulary& words, const runtime::Workers& workers);

void add(Slice& total, Slice slice);

/// Bytes, and back: several slices one after the other are added up.
runtime::Bytes to_bytes(const Slice& slice);
void add_from(Slice& total, runtime::ByteView bytes);

}  // namespace rulemill::dedup
