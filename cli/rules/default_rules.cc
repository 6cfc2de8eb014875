#include "cli/rules/default_rules.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "algebra/rules/rule_set_format.h"
#include "cli/rules/rule_database.h"
#include "cli/shipped_files.h"
#include "cli/step_progress.h"
#include "pipeline/run.h"
#include "prove/generalize_rules.h"
#include "prove/import_rules.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/cache_folder.h"
#include "runtime/process/descriptor.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/run_program.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::cli {
namespace {

namespace fs = std::filesystem;

constexpr double max_seconds = 7200;

/// "models-0123456789abcdef.rmdb", with a digest of everything that determines the rules.
std::string file_name(const fs::path& profiles, const fs::path& stated, const Options& options) {
  runtime::Hasher hasher;
  hasher.add_text(runtime::program_digest());
  if (!stated.empty()) hasher.add_text(runtime::read_file(stated));
  const algebra::Library library = load_library(options);
  try {
    hasher.add_text(pipeline::digest_of_profiles(profiles, library));
  } catch (const runtime::InputError& error) {
    throw runtime::InputError("",
                              std::string(error.what()) +
                                  "; the default rules need the installed operators: include them in --definitions, "
                                  "or give --rules");
  }
  return profiles.filename().string() + "-" + runtime::to_hex(hasher.digest64()) + ".rmdb";
}

/// A lock on the folder while rules are made in it, so that concurrent processes make them once. The process that makes
/// them inherits it: if this one is killed, the lock ends after both. Without effect on file systems without locks.
class MakingLock {
 public:
  explicit MakingLock(const fs::path& folder) : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY)) {
    while (folder_.is_valid() && ::flock(folder_.get(), LOCK_EX) != 0 && errno == EINTR)
      runtime::throw_if_interrupted("waiting for the default rules");
  }

 private:
  runtime::Descriptor folder_;
};

/// The default rules, wherever they are.
struct Wanted {
  fs::path profiles, definitions;
  fs::path stated;   // rules as text, which are proved like others; empty: none
  std::string name;  // of the database
};

/// Proves the rules of a file, and adds them to a database.
void add_stated_rules(const fs::path& stated, const fs::path& database, const Options& options) {
  Terms terms(options);
  auto& [library, bank, symbols] = terms;
  algebra::RuleSet rules = algebra::load_rule_set(database, library, bank, symbols);
  const prove::ProverOptions prover;
  const auto verdicts = prove::prove_imported_rules(read_rule_file(stated, {}, terms), library, bank, symbols, prover);
  for (const prove::ImportVerdict& verdict : verdicts) {
    if (verdict.status != prove::RuleStatus::Proved)
      throw runtime::Error(verdict.place, verdict.name + " is not proved: " + verdict.detail);
  }
  for (algebra::RuleRecord& record : prove::make_import_database(verdicts, library, bank, symbols, prover, {}).rules)
    rules.rules.push_back(std::move(record));
  algebra::save(rules, bank, symbols, database);
}

/// Discovers the rules of the profiles with their general forms in another process, and removes the other files. What a
/// killed one has left is used.
void discover(const Wanted& wanted, const fs::path& database, const Options& options) {
  runtime::require_writable_folder(database.parent_path());
  fs::path work = database;
  work.replace_extension(".making");
  if (const std::string failure = run_discovery(wanted.profiles, wanted.definitions, work, "all", max_seconds);
      !failure.empty())
    throw runtime::Error(work.string(), "cannot make the default rules: `rulemill discover` failed with " + failure);
  if (!wanted.stated.empty()) add_stated_rules(wanted.stated, work / prove::rules_file, options);
  fs::rename(work / prove::rules_file, database);
  std::error_code ignored;
  fs::remove_all(work, ignored);
}

Wanted wanted_rules(const Context& context, const std::string& folder = "models") {
  const fs::path profiles = data_folder() / "profiles" / folder, definitions = definitions_folder(context.options);
  if (!fs::is_directory(profiles)) throw runtime::Error(profiles.string(), "has no profile; give --rules");
  fs::path stated = data_folder() / "rules" / "stated.rules";
  if (folder != "models" || !fs::exists(stated)) stated.clear();
  return {profiles, definitions, stated, file_name(profiles, stated, context.options)};
}

/// Returns whether the database exists and matches its checksum; logs a warning if it exists only. A checksum reveals
/// damage; a forged rule is revealed by its certificate when a result depends on it.
bool is_usable(const fs::path& database) {
  std::error_code error;
  if (!fs::exists(database, error)) return false;
  try {
    if (algebra::has_valid_checksum(runtime::read_file(database))) return true;
  } catch (const runtime::IoError&) {  // as if it were damaged
  }
  spdlog::warn("{}: is damaged; discovering its rules again", database.string());
  return false;
}

/// Returns the database that ships with the program; empty if there is none.
fs::path packed_database(const Wanted& wanted) {
  fs::path packed = data_folder() / "rules" / "models" / wanted.name;
  return is_usable(packed) ? packed : fs::path();
}

/// Returns the database in the folder, after making it if necessary. Throws IoError if the folder cannot be written to.
fs::path database_in(const fs::path& folder, const Wanted& wanted, const Context& context) {
  const fs::path own = folder / wanted.name;
  if (is_usable(own)) return own;
  runtime::require_writable_folder(folder);
  if (!context.options.quiet) {
    std::fprintf(stderr, "rulemill: discovering the default rules, once: %s on two cores; they are kept in %s\n",
                 wanted.profiles.filename() == "models" ? "about 30 s" : "a few seconds", folder.c_str());
  }
  const MakingLock lock(folder);
  if (fs::exists(own) && algebra::has_valid_checksum(runtime::read_file(own))) return own;
  StepProgress progress(context.progress, "default rules");
  progress.begin("discovering");
  discover(wanted, own, context.options);
  return own;
}

fs::path rules_cache() {
  const fs::path cache = runtime::cache_folder();
  return cache.empty() ? cache : cache / "rules";
}

/// Makes the database for this run only.
DefaultRules temporary_rules(const Wanted& wanted, const Options& options, const std::string& reason) {
  spdlog::warn("{}; the default rules are discovered for this run only, see RULEMILL_CACHE", reason);
  auto folder = std::make_shared<const runtime::ScratchFolder>();
  fs::path database = folder->path() / wanted.name;
  discover(wanted, database, options);
  return {std::move(database), std::move(folder)};
}

DefaultRules rules_of(const Wanted& wanted, const Context& context) {
  if (fs::path packed = packed_database(wanted); !packed.empty()) return {std::move(packed), nullptr};
  const fs::path cache = rules_cache();
  if (cache.empty()) return temporary_rules(wanted, context.options, "there is no cache folder");
  try {
    return {database_in(cache, wanted, context), nullptr};
  } catch (const runtime::IoError& error) {
    return temporary_rules(wanted, context.options, error.what());
  }
}

}  // namespace

std::string run_discovery(const fs::path& profile, const fs::path& definitions, const fs::path& out,
                          const std::string& generalized, double seconds) {
  return runtime::run_program({runtime::current_executable().string(), "discover", "--generalize", generalized,
                               "--profile", profile.string(), "--definitions", definitions.string(), "--progress",
                               "off", "--log-level", "error", "--no-sync", "--out", out.string()},
                              runtime::environment_without_launchers(),
                              std::chrono::milliseconds(std::llround(seconds * 1e3)))
      .failure;
}

DefaultRules default_rules(const Context& context) { return rules_of(wanted_rules(context), context); }

std::optional<DefaultRules> runtime_rules(const Context& context, const std::string& runtime) {
  if (!fs::is_directory(data_folder() / "profiles" / runtime)) return std::nullopt;
  return rules_of(wanted_rules(context, runtime), context);
}

void add_rules_default(CLI::App& rules, Options& options, Command& chosen) {
  auto* command = rules.add_subcommand(
      "default", "Print the path of the default rules of `optimize`, after making them if necessary");
  options.files.writes(
      command->add_option("--out", options.out, "folder for the database; default: `rules` in the user's cache folder"),
      PathKind::Folder);
  add_general_options(*command, options);
  command->callback([&chosen] {
    chosen = [](Context& context) {
      if (!context.world.is_root()) return;
      const Wanted wanted = wanted_rules(context);
      const fs::path folder = context.options.out.empty() ? rules_cache() : fs::path(context.options.out);
      fs::path database = packed_database(wanted);
      if (database.empty() && folder.empty())
        throw runtime::Error("--out", "not given, and there is no cache folder; set RULEMILL_CACHE");
      if (database.empty()) database = database_in(folder, wanted, context);
      context.report["database"] = database.string();
      context.print(database.string() + "\n");
    };
  });
}

}  // namespace rulemill::cli
