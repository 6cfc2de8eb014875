#include "cli/file_options.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <iterator>
#include <set>
#include <string>

#include "algebra/language/syntax.h"
#include "cli/shipped_files.h"
#include "optimize/onnx/format/model.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/cache_folder.h"
#include "runtime/files/destination.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

namespace fs = std::filesystem;
using runtime::Destination;

/// The files and folders that a run writes in its output folder, besides checkpoints and journals.
constexpr std::array run_files = {
    "shards",       "events",      "previous",         "profiles",           "manifest.json", "outcomes.json",
    "pruned.rmdb",  "rules.rmdb",  "candidates.rules", "answers.cache",      "timings.json",  "generalizations.cache",
    "dropped.json", "funnel.json", "models.txt",       "manifest.copy.json", ".lock"};
constexpr std::array run_extensions = {".pieces", ".journal", ".partial"};

/// The files of one option, or of what every command reads.
struct Claim {
  std::string name;  // in messages
  bool is_output = false;
  std::vector<Destination> files;
  fs::path run_folder;  // canonical; empty: none. The files of a run are claimed whether or not they exist.
};

/// Calls the function for each regular file of the folder with the extension; for all if it is empty.
void for_each_file(const fs::path& folder, const std::string& extension,
                   const std::function<void(const fs::path&)>& call) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error) && (extension.empty() || entry.path().extension() == extension))
      call(entry.path());
  }
}

void add_file(Claim& claim, const fs::path& path) { claim.files.push_back(runtime::destination_of(path)); }

void add_files(Claim& claim, const fs::path& folder, const std::string& extension) {
  for_each_file(folder, extension, [&](const fs::path& file) { add_file(claim, file); });
}

/// Adds the definitions in the folder, and those in the folders that they include.
void add_definitions(Claim& claim, const fs::path& folder, std::set<fs::path>& visited) {
  if (!visited.insert(runtime::canonical_place(folder)).second) return;
  for_each_file(folder, ".op", [&](const fs::path& file) {
    add_file(claim, file);
    try {
      for (const auto& include : algebra::syntax::parse(runtime::read_file(file), file.string()).includes)
        add_definitions(claim, folder / include.folder, visited);
    } catch (const runtime::Error&) {  // reported by the command itself
    }
  });
}

bool is_run_file(const fs::path& run_folder, const fs::path& file) {
  const fs::path relative = runtime::canonical_place(file).lexically_relative(run_folder);
  if (relative.empty()) return false;
  const fs::path name = *relative.begin();
  return std::ranges::find(run_files, name.string()) != run_files.end() ||
         std::ranges::find(run_extensions, name.extension().string()) != run_extensions.end();
}

void add_run(Claim& claim, const fs::path& folder) {
  claim.run_folder = runtime::canonical_place(folder);
  for_each_file(folder, "", [&](const fs::path& file) {
    if (is_run_file(claim.run_folder, file)) add_file(claim, file);
  });
}

void add_model(Claim& claim, const fs::path& path) {
  add_file(claim, path);
  fs::path data = path;
  data += ".data";
  add_file(claim, data);
  if (claim.is_output) return;
  try {
    const optimize::OnnxModel model = optimize::OnnxModel::read(path);
    for (const fs::path& file : model.external_files()) add_file(claim, file);
  } catch (const runtime::Error&) {  // reported by the command itself
  }
}

/// Adds the files that the path stands for. `model` is the model that the command reads.
void add_path(Claim& claim, const fs::path& path, PathKind kind, const fs::path& model) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  switch (kind) {
    case PathKind::File:
      return add_file(claim, path);
    case PathKind::Database:
      return is_folder ? add_run(claim, path) : add_file(claim, path);
    case PathKind::NewDatabase:
      return add_file(claim, database_file(path));
    case PathKind::Model:
      return add_model(claim, path);
    case PathKind::NewModel:
      return add_model(claim, is_folder ? path / model.filename() : path);
    case PathKind::Run:
      add_run(claim, path);
      return add_files(claim, path / "reports", ".json");
    case PathKind::Definitions: {
      std::set<fs::path> visited;
      return add_definitions(claim, path, visited);
    }
    case PathKind::Profile:
      return is_folder ? add_files(claim, path, ".toml") : add_file(claim, path);
    case PathKind::Folder:
      return;
  }
}

/// What commands read without an option: the files that ship with the program and the user's cache.
std::vector<Claim> implicit_inputs() {
  std::vector<Claim> claims;
  try {
    const fs::path data = data_folder();
    Claim& shipped = claims.emplace_back(Claim{"rulemill itself", false, {}, {}});
    std::set<fs::path> visited;
    add_definitions(shipped, data / "operators", visited);
    for (const char* folder :
         {"profiles", "profiles/models", "profiles/onnxruntime", "runtimes", "imports", "rules/models"})
      add_files(shipped, data / folder, "");
    for (const char* folder : {"pages", "python", "python/onnxruntime_helpers", "python/rulemill/exchange"})
      add_files(shipped, shipped_folder(folder), "");
  } catch (const runtime::UsageError&) {  // there is no such folder, which commands that need it report
  }
  if (const fs::path cache = runtime::cache_folder(); !cache.empty()) {
    Claim& cached = claims.emplace_back(Claim{"the user's cache folder", false, {}, {}});
    add_files(cached, cache / "rules", ".rmdb");
    add_files(cached, cache, ".h5");
  }
  return claims;
}

bool overlap(const Claim& a, const Claim& b) {
  const auto has_run_file = [](const fs::path& run_folder, const Claim& claim) {
    return !run_folder.empty() && std::ranges::any_of(claim.files, [&](const Destination& file) {
      return file.kind == Destination::Kind::File && is_run_file(run_folder, file.path);
    });
  };
  const auto is_shared = [&](const Destination& file) {
    return std::ranges::any_of(b.files, [&](const Destination& other) {
      const bool both_standard_output = file.is_standard_output() && other.is_standard_output();
      return both_standard_output || runtime::is_same_file(file, other);
    });
  };
  return std::ranges::any_of(a.files, is_shared) || has_run_file(a.run_folder, b) || has_run_file(b.run_folder, a);
}

/// Returns whether standard output was redirected to a file of the claim.
bool is_redirected_to(const Claim& claim) {
  struct stat redirected {};
  if (::fstat(STDOUT_FILENO, &redirected) != 0 || !S_ISREG(redirected.st_mode)) return false;
  return std::ranges::any_of(claim.files, [&](const Destination& file) {
    struct stat status {};
    return file.kind == Destination::Kind::File && ::stat(file.path.c_str(), &status) == 0 &&
           status.st_dev == redirected.st_dev && status.st_ino == redirected.st_ino;
  });
}

}  // namespace

std::filesystem::path database_file(const std::filesystem::path& out) {
  const bool is_file = runtime::destination_of(out).kind == runtime::Destination::Kind::File;
  return is_file && out.extension() != ".rmdb" ? out / "rules.rmdb" : out;
}

void require_writable(const fs::path& path) {
  const Destination to = runtime::destination_of(path);
  switch (to.kind) {
    case Destination::Kind::File: {
      const fs::path folder = fs::absolute(to.path).parent_path();
      if (!fs::exists(folder))
        throw runtime::IoError(path.string(), "the folder " + folder.string() + " does not exist");
      return runtime::require_writable_folder(folder);
    }
    case Destination::Kind::Stream:
      if (::access(to.path.c_str(), W_OK) != 0) runtime::throw_write_error(path, errno);
      return;
    case Destination::Kind::Descriptor:
      if (::fcntl(to.descriptor, F_GETFL) < 0) runtime::throw_write_error(path, errno);
      return;
  }
}

fs::path writable_database(const fs::path& out) {
  fs::path file = database_file(out);
  if (file != out) runtime::require_writable_folder(out);
  require_writable(file);
  return file;
}

CLI::Option* FileOptions::reads(CLI::Option* option, PathKind kind) { return add(option, kind, true, false); }
CLI::Option* FileOptions::writes(CLI::Option* option, PathKind kind) { return add(option, kind, false, true); }
CLI::Option* FileOptions::updates(CLI::Option* option, PathKind kind) { return add(option, kind, true, true); }

CLI::Option* FileOptions::add(CLI::Option* option, PathKind kind, bool is_input, bool is_output) {
  entries_.push_back({option, kind, is_input, is_output});
  const bool is_folder = kind == PathKind::Run || kind == PathKind::Definitions || kind == PathKind::Folder;
  return option->type_name(is_folder ? "FOLDER" : "PATH");
}

void FileOptions::refuse_overwriting() const {
  const auto is_given_output = [](const Entry& entry) { return entry.is_output && entry.option->count() > 0; };
  if (std::ranges::none_of(entries_, is_given_output)) return;
  fs::path model;
  for (const Entry& entry : entries_) {
    if (entry.kind == PathKind::Model && entry.option->count() > 0) model = entry.option->results()[0];
  }
  std::vector<Claim> claims;
  for (const Entry& entry : entries_) {
    if (entry.option->count() == 0) continue;
    const std::string name = entry.option->get_name(/*positional=*/entry.option->get_positional());
    Claim& claim = claims.emplace_back(Claim{name, entry.is_output, {}, {}});
    for (const std::string& path : entry.option->results()) add_path(claim, path, entry.kind, model);
  }
  std::ranges::move(implicit_inputs(), std::back_inserter(claims));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Claim& output = claims[i];
    if (!output.is_output) continue;
    if (is_redirected_to(output))
      throw runtime::UsageError(output.name,
                                "is the file that standard output goes to, too; choose another file, or -");
    for (std::size_t j = 0; j < claims.size(); ++j) {
      if (i == j || !overlap(output, claims[j])) continue;
      throw runtime::UsageError(output.name, "is a file of " + claims[j].name +
                                                 (claims[j].is_output ? ", another output" : ", an input") +
                                                 "; choose another file");
    }
  }
}

bool FileOptions::use_standard_output() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) {
    if (!entry.is_output || entry.option->count() == 0) return false;
    return std::ranges::any_of(entry.option->results(), [](const std::string& path) {
      return runtime::destination_of(path).is_standard_output();
    });
  });
}

}  // namespace rulemill::cli
