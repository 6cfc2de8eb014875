// The files that a command reads and writes, as its options name them. No output may be an input or another output of
// the command: that is refused before anything is done.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

namespace rulemill::cli {

/// The files that a path stands for.
enum class PathKind {
  File,
  Database,     // a rule database or, if a folder, the run in it
  NewDatabase,  // a file *.rmdb, or a folder for rules.rmdb
  Model,        // an ONNX model and its external data
  NewModel,     // the same; a folder means a file of the read model's name in it
  Run,          // the output folder of a run
  Definitions,  // a folder of *.op
  Profile,      // a profile, or a folder of *.toml
  Folder,       // a folder whose files do not matter
};

/// Returns the database that a path for one names: a file *.rmdb or a stream; otherwise rules.rmdb in that folder.
std::filesystem::path database_file(const std::filesystem::path& out);

/// Throws IoError unless an output can be written there.
void require_writable(const std::filesystem::path& path);
/// Returns database_file(out). Creates the folder if `out` is one. Throws what require_writable() throws.
std::filesystem::path writable_database(const std::filesystem::path& out);

/// A registry of the options of all commands that name files. Options outlive it.
class FileOptions {
 public:
  /// Each registers an option and returns it.
  CLI::Option* reads(CLI::Option* option, PathKind kind = PathKind::File);
  CLI::Option* writes(CLI::Option* option, PathKind kind = PathKind::File);
  CLI::Option* updates(CLI::Option* option, PathKind kind = PathKind::File);

  /// Call after parsing. Throws UsageError if an output is also an input, another output, or the file that standard
  /// output was redirected to.
  void refuse_overwriting() const;
  /// Returns whether a given output is standard output, where other text must not be printed then.
  bool use_standard_output() const;

 private:
  struct Entry {
    const CLI::Option* option;
    PathKind kind;
    bool is_input, is_output;
  };

  CLI::Option* add(CLI::Option* option, PathKind kind, bool is_input, bool is_output);

  std::vector<Entry> entries_;
};

}  // namespace rulemill::cli
