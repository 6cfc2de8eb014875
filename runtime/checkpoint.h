// Pieces of a stage's work that is not finished: each is a file below the output folder, listed in its manifest as soon
// as it is whole. A run that was stopped, on however many ranks, takes what is there instead of doing it again; what is
// damaged is as if it had never been made.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "runtime/communicator.h"
#include "runtime/manifest.h"

namespace rulemill::runtime {

/// Every member is collective but has(). The first rank writes, and alone has the manifest.
class Checkpoint {
 public:
  /// The stage has been begun. Pieces are files of the folder `stage`.pieces.
  Checkpoint(const std::filesystem::path& out, const std::string& stage, Manifest* manifest,
             const Communicator& communicator);

  /// The same on every rank.
  bool has(const std::string& piece) const { return present_.contains(piece); }
  /// What every rank has of the piece.
  void save(const std::string& piece, ByteView mine);
  /// Of what save() was given, the parts that fall to this rank, one after the other.
  Bytes load(const std::string& piece) const;
  /// Forgets all pieces and removes their files. The manifest is written out by its next save().
  void clear();

 private:
  std::string name_of(const std::string& piece) const { return stage_ + ".pieces/" + piece; }

  std::filesystem::path out_;
  std::string stage_;
  Manifest* manifest_;
  const Communicator& communicator_;
  std::set<std::string> present_;
};

}  // namespace rulemill::runtime
