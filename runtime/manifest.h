// manifest.json of an output folder: which stages are finished, on which inputs, and the files that they made. A
// finished stage is a no-op when run again on the same inputs; other inputs are refused, so that results never mix. It
// has a checksum of its own, and a copy beside it, manifest.copy.json, which is read where it is damaged; where both
// are, what they list is not believed, and made again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/attributes.h"

namespace rulemill::runtime {

struct ManifestEntry {
  std::string name;   // relative to the folder
  std::string stage;  // the stage that made it
  std::uint64_t bytes = 0;
  std::string checksum;  // hex; of the content, as the stage defines it
  Attributes attributes;
};

/// One writer at a time: rank 0 of the run that holds the folder's lock.
class Manifest {
 public:
  /// Reads the folder's manifest, or its copy, or starts an empty one, with a warning if what is there is damaged.
  /// Throws InputError if it is not a manifest, or of another version.
  explicit Manifest(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }

  /// Whether the stage is finished on these inputs. Throws InputError if it was begun on other inputs, naming both
  /// digests.
  bool finished(const std::string& stage, const std::string& inputs_digest) const;
  /// Records that the stage runs on these inputs; drops its entries, unless `keep_entries`.
  void begin(const std::string& stage, const std::string& inputs_digest, bool keep_entries = false);
  /// Adds or replaces a file. Written out by save() or finish().
  void add(ManifestEntry entry);
  /// Forgets a file. Written out by save() or finish().
  void drop(const std::string& name);
  void finish(const std::string& stage, const Attributes& figures = {});
  /// Atomic, each of the two files.
  void save() const;
  /// Makes the two files again if they are damaged, or do not say the same.
  void mend() const;

  /// What the folder's results depend on, part by part, as noted; empty if it was not.
  const std::map<std::string, std::string>& inputs() const { return inputs_; }
  /// Atomic.
  void note_inputs(std::map<std::string, std::string> parts);
  /// Forgets all stages and files. Atomic.
  void start_over();

  /// By name. Of one stage, or all.
  std::vector<ManifestEntry> entries(const std::string& stage = "") const;
  const ManifestEntry* find(const std::string& name) const;
  /// The figures given to finish(): empty if not finished.
  Attributes figures(const std::string& stage) const;
  /// The digest of the inputs on which the stage was begun; empty if it was not.
  std::string inputs_digest(const std::string& stage) const;
  /// Throws InputError if a file of the stage is missing or has another size than listed.
  void check_files(const std::string& stage) const;

 private:
  struct Stage {
    std::string inputs_digest;
    bool finished = false;
    Attributes figures;
  };
  std::filesystem::path path() const { return folder_ / "manifest.json"; }
  std::filesystem::path copy() const { return folder_ / "manifest.copy.json"; }
  bool read(const std::filesystem::path& file);

  std::filesystem::path folder_;
  std::map<std::string, std::string> inputs_;
  std::map<std::string, Stage> stages_;
  std::map<std::string, ManifestEntry> entries_;
};

}  // namespace rulemill::runtime
