// manifest.json of an output folder: the finished stages, the digests of their inputs, and the files that they wrote. A
// finished stage is skipped when it is run again on the same inputs; other inputs are rejected, so that results never
// mix. The manifest contains its own checksum. If it is corrupt, manifest.copy.json is read instead; if both are
// corrupt, all stages run again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/text/attributes.h"

namespace rulemill::runtime {

/// A file that a stage wrote.
struct ManifestEntry {
  std::string name;  // relative to the folder
  std::string stage;
  std::uint64_t bytes = 0;
  std::string checksum;  // hex; see file_integrity.h
  Attributes attributes;
};

/// Only rank 0 of the run that holds the folder's lock may change a manifest.
class Manifest {
 public:
  /// Reads the folder's manifest or its copy; starts an empty one if there is none or both are corrupt. Warns about
  /// corrupt files. Throws InputError if the file is not a manifest or has another version.
  explicit Manifest(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }

  /// Whether the stage is finished on these inputs. Throws InputError with both digests if it was begun on other
  /// inputs.
  bool is_finished(const std::string& stage, const std::string& inputs_digest) const;
  /// Records that the stage runs on these inputs. Removes its entries unless `keep_entries`. Saves.
  void begin(const std::string& stage, const std::string& inputs_digest, bool keep_entries = false);
  /// Adds or replaces an entry, without saving.
  void add(ManifestEntry entry);
  /// Removes an entry, without saving.
  void remove(const std::string& name);
  /// Marks the stage as finished and saves.
  void finish(const std::string& stage, const Attributes& statistics = {});
  /// Writes both files, each of them atomically.
  void save() const;
  /// Writes both files if one is corrupt or they differ.
  void repair() const;

  /// Returns what the folder's results depend on, as name and value; empty if it was not set.
  const std::map<std::string, std::string>& inputs() const { return inputs_; }
  /// Saves.
  void set_inputs(std::map<std::string, std::string> inputs);
  /// Removes all stages and entries and saves.
  void reset();

  /// Returns the entries of one stage or of all, sorted by name.
  std::vector<ManifestEntry> entries(const std::string& stage = "") const;
  const ManifestEntry* find(const std::string& name) const;
  /// Returns what finish() was given; empty if the stage is not finished.
  Attributes statistics(const std::string& stage) const;
  /// Returns the digest of the inputs on which the stage was begun; empty if it was not begun.
  std::string inputs_digest(const std::string& stage) const;
  /// Throws InputError if a file of the stage is missing or has a different size.
  void check_files(const std::string& stage) const;

 private:
  struct Stage {
    std::string inputs_digest;
    bool finished = false;
    Attributes statistics;
  };
  std::filesystem::path path() const { return folder_ / "manifest.json"; }
  std::filesystem::path copy_path() const { return folder_ / "manifest.copy.json"; }
  /// Returns false if the file is corrupt.
  bool read(const std::filesystem::path& file);

  std::filesystem::path folder_;
  std::map<std::string, std::string> inputs_;
  std::map<std::string, Stage> stages_;
  std::map<std::string, ManifestEntry> entries_;
};

/// Returns a count of a stage's statistics. Throws InputError if there is none of this name.
std::uint64_t count_in(const Attributes& statistics, const std::string& stage, const std::string& name);

/// The counts that a stage stores: their names in the statistics, and the members of its summary.
template <class Summary>
using CountNames = std::initializer_list<std::pair<const char*, std::uint64_t Summary::*>>;

template <class Summary>
Attributes to_attributes(const Summary& summary, CountNames<Summary> names) {
  Attributes statistics;
  for (const auto& [name, count] : names) statistics[name] = summary.*count;
  return statistics;
}

/// Sets the counts. Throws InputError if the statistics lack one.
template <class Summary>
void read_counts(Summary& summary, CountNames<Summary> names, const Attributes& statistics, const std::string& stage) {
  for (const auto& [name, count] : names) summary.*count = count_in(statistics, stage, name);
}

}  // namespace rulemill::runtime
