// A stage of a run: whether it is finished on the same inputs, which of its files remain from an unfinished run, and
// its record in the manifest.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "runtime/files/manifest.h"
#include "runtime/mpi/communicator.h"

namespace rulemill::runtime {

/// Only the first rank has the manifest; begin() and finish() are collective.
class Stage {
 public:
  /// The files of an unfinished or damaged run of the stage: Keep keeps those that are intact.
  enum class OldFiles { Keep, Discard };
  /// True if the statistics of a finished run make repeating it unnecessary.
  using IsFinal = std::function<bool(const Attributes&)>;

  /// Reads the manifest of the folder. The communicator must outlive the stage.
  Stage(std::filesystem::path folder, std::string name, const Communicator& communicator);

  const std::filesystem::path& folder() const { return folder_; }
  const std::string& name() const { return name_; }
  const Communicator& communicator() const { return communicator_; }
  /// Null on all ranks but the first.
  Manifest* manifest() { return manifest_ ? &*manifest_ : nullptr; }

  /// Returns the statistics of a finished run on the same inputs if all its files are intact. Otherwise begins the
  /// stage. Throws InputError if it was begun on other inputs.
  std::optional<Attributes> begin(const std::string& inputs_digest, OldFiles old_files, const IsFinal& is_final = {});
  /// Names of the files that begin() kept.
  const std::set<std::string>& kept_files() const { return kept_files_; }

  /// Writes a file of the folder and lists it. On the first rank; the manifest is saved by finish().
  void write(const std::string& file, std::string_view content);
  /// Writes the concatenation of the chunks.
  void write(const std::string& file, std::span<const ByteView> chunks);
  /// Marks the stage as finished. Returns the first rank's statistics.
  Attributes finish(const Attributes& statistics);

 private:
  std::filesystem::path folder_;
  std::string name_;
  const Communicator& communicator_;
  std::optional<Manifest> manifest_;
  std::set<std::string> kept_files_;
};

}  // namespace rulemill::runtime
