// The join stage: from shards to candidates.rules. Terms with equal fingerprints make classes; each class gives its
// smallest member paired with each other; nodes with several outputs give candidates with several outputs. Cheap
// filters leave one candidate of all that are renamings of each other, at its most general. Where memory is short, the
// shards are read several times, for a part of the fingerprints each. What is done of a long join is saved slice by
// slice.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "algebra/library/library.h"
#include "enumerate/profile.h"
#include "fingerprint/run.h"
#include "runtime/attributes.h"
#include "runtime/communicator.h"

namespace rulemill::dedup {

inline constexpr std::uint64_t default_checkpoint_rows = std::uint64_t{1} << 20;

struct JoinOptions {
  unsigned threads = 0;
  bool all_terms = false;  // as the fingerprint stage was run
  bool every_renaming = false;
  std::uint64_t memory = 0;  // bytes that a rank may use; 0: no limit
  std::uint64_t parts = 0;   // of the fingerprints, joined one after the other; 0: as few as memory allows
  /// Rows whose candidates are saved together, so that a run that is stopped keeps them.
  std::uint64_t checkpoint_rows = default_checkpoint_rows;
};

/// How many remain after each step.
struct Funnel {
  std::uint64_t terms = 0;        // one of each orbit
  std::uint64_t classes = 0;      // of two or more terms, or of one that equals a renaming of itself
  std::uint64_t pairs = 0;        // smallest member with each other one, congruent ones left out
  std::uint64_t renamed = 0;      // one of all renamings
  std::uint64_t shapes = 0;       // one of all shapes on which a candidate was found
  std::uint64_t generalized = 0;  // shared subterms and repeated variables made variables
  std::uint64_t multi_pairs = 0;  // with several outputs: combinations
  std::uint64_t multi_generalized = 0;
  std::uint64_t candidates = 0;
};

struct Summary {
  bool already_done = false;
  Funnel funnel;
  std::vector<std::uint64_t> new_values;  // by level: classes that begin there
  /// Bound on the expected number of pairs of unequal terms that share a fingerprint; over the reals by the hash alone.
  double expected_false = 0;
  double seconds = 0;
  /// This rank's time by step; not there if the stage was finished already.
  std::vector<std::pair<std::string, double>> steps;
};

runtime::Attributes to_attributes(const Summary& summary);
/// `already_done` is set. Throws InputError if a figure is not there.
Summary summary_of(const runtime::Attributes& figures);

inline constexpr const char* join_stage = "join";
inline constexpr const char* candidates_file = "candidates.rules";

/// Collective; the fingerprint stage must be finished. The same summary on every rank.
Summary join(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
             const fingerprint::Summary& fingerprints, const runtime::Communicator& communicator,
             const JoinOptions& options);

}  // namespace rulemill::dedup
