// Checkpoints of an unfinished stage. Each chunk of its work is a file below the output folder, which is added to the
// manifest once it is complete. A later run, on any number of ranks, loads the chunks instead of recomputing them.
// Corrupt chunks are recomputed.
#pragma once

#include <set>
#include <string>

#include "runtime/files/stage.h"

namespace rulemill::runtime {

/// The chunks of one stage. All members except has() are collective. Only the first rank writes and has the manifest.
class Checkpoint {
 public:
  /// The stage must have begun, keeping old files, and outlive the checkpoint. Chunks are files of the folder
  /// `stage`.pieces.
  explicit Checkpoint(Stage& stage);

  /// Returns the same on every rank.
  bool has(const std::string& chunk) const { return present_.contains(chunk); }
  /// `bytes`: this rank's share of the chunk.
  void save(const std::string& chunk, ByteView bytes);
  /// Returns the concatenation of this rank's portion of the saved shares: those whose rank is this rank modulo the
  /// number of ranks.
  Bytes load(const std::string& chunk) const;
  /// Removes all chunks and their files. The manifest is written by its next save().
  void clear();

 private:
  std::string file_name(const std::string& chunk) const { return stage_.name() + ".pieces/" + chunk; }

  Stage& stage_;
  std::set<std::string> present_;
};

}  // namespace rulemill::runtime
