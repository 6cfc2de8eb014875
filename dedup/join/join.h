// The join stage: from shards to candidates.rules. Terms with equal fingerprints form classes; the smallest member of a
// class is paired with each other member; nodes with several outputs give candidates with several outputs. Candidates
// are generalized and deduplicated up to renaming. If memory is short, fingerprints are joined in several partitions,
// one pass over the shards each. A long join saves a checkpoint after each bucket.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "algebra/library/library.h"
#include "enumerate/profile/profile.h"
#include "fingerprint/run.h"
#include "runtime/mpi/communicator.h"
#include "runtime/text/attributes.h"

namespace rulemill::dedup {

inline constexpr std::uint64_t default_checkpoint_rows = std::uint64_t{1} << 20;

struct JoinOptions {
  unsigned threads = 0;
  bool all_terms = false;  // as in the fingerprint stage
  bool no_symmetry = false;
  std::uint64_t memory = 0;      // bytes per rank; 0: no limit
  std::uint64_t partitions = 0;  // 0: as few as memory allows
  /// Rows per bucket, that is, per checkpoint.
  std::uint64_t checkpoint_rows = default_checkpoint_rows;
};

/// The counts after each step.
struct Funnel {
  std::uint64_t terms = 0;    // orbits
  std::uint64_t classes = 0;  // of two or more terms, or of one that equals a renaming of itself
  std::uint64_t pairs = 0;    // smallest member with each other member, without congruent ones
  std::uint64_t unique_up_to_renaming = 0;
  std::uint64_t unique_up_to_shape = 0;
  std::uint64_t generalized = 0;         // after replacing subterms by variables and splitting variables
  std::uint64_t multi_output_pairs = 0;  // combinations of alternatives
  std::uint64_t multi_output_generalized = 0;
  std::uint64_t candidates = 0;
};

struct Summary {
  bool already_done = false;
  Funnel funnel;
  std::vector<std::uint64_t> new_classes;  // by level: classes whose smallest member is on that level
  /// An upper bound on the expected number of pairs of unequal terms with equal fingerprints. Over the reals, only hash
  /// collisions are counted.
  double expected_false_candidates = 0;
  double seconds = 0;
  /// This rank's time by step; empty if the stage was already finished.
  std::vector<std::pair<std::string, double>> steps;
};

runtime::Attributes to_attributes(const Summary& summary);
/// Sets `already_done`. Throws InputError if an attribute is missing.
Summary summary_of(const runtime::Attributes& figures);

inline constexpr const char* join_stage = "join";
inline constexpr const char* candidates_file = "candidates.rules";

/// Collective. The fingerprint stage must be finished. Returns the same summary on every rank.
Summary join(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
             const fingerprint::Summary& fingerprints, const runtime::Communicator& communicator,
             const JoinOptions& options);

}  // namespace rulemill::dedup
