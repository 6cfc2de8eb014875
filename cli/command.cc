#include "cli/command.h"

#include <cstdio>
#include <cstdlib>

#include "cli/number_option.h"
#include "runtime/error.h"
#include "runtime/subprocess.h"

namespace rulemill::cli {
namespace {

/// What the first rank threw, on the others.
class FailedOnFirstRank : public runtime::Error {
 public:
  FailedOnFirstRank(const std::string& what, int code) : Error("", what), code_(code) {}
  int exit_code() const override { return code_; }

 private:
  int code_;
};

}  // namespace

void Context::print(const std::string& text) const {
  if (!world.is_root() || silent) return;
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void add_profile_options(CLI::App& app, Options& options) {
  app.add_option("--profile", options.profile, "profile to run (TOML), or a folder of profiles to run together")
      ->required();
  app.add_option("--max-ops", options.max_ops, "largest number of operators in a graph; the profile's if not given")
      ->check(whole_number(1, 8));
  app.add_option("--seed", options.seed, "seed of the random inputs; the profile's if not given")
      ->check(whole_number());
}

void add_out_option(CLI::App& app, Options& options) {
  app.add_option("--out", options.out, "output folder; a run that was stopped continues here")->required();
}

void add_rules_option(CLI::App& app, Options& options, bool required) {
  auto* option = app.add_option("--rules", options.rules, "rule database (rules.rmdb), or an output folder with one");
  if (required) option->required();
}

void add_definitions_option(CLI::App& app, Options& options) {
  app.add_option("--definitions", options.definitions,
                 "folder of operator definitions; default: those that came with rulemill");
}

void add_common_options(CLI::App& app, Options& options) {
  app.add_option("--json", options.json, "write every number that is shown into this file");
  app.add_option("--log-level", options.log_level, "trace, debug, info, warn, error or off")->capture_default_str();
  app.add_option("--progress", options.progress, "auto, plain or off")->capture_default_str();
}

std::filesystem::path data_folder() {
  if (const char* given = std::getenv("RULEMILL_DATA")) return given;
  auto folder = runtime::own_binary().parent_path();
  for (int up = 0; up < 4 && folder.has_relative_path(); ++up, folder = folder.parent_path()) {
    for (const char* place : {"data", "share/rulemill"}) {
      if (std::filesystem::is_directory(folder / place / "operators")) return folder / place;
    }
  }
  throw runtime::UsageError("--definitions", "no operator definitions beside " + runtime::own_binary().string() +
                                                 "; give --definitions DIR or set RULEMILL_DATA");
}

std::filesystem::path definitions_folder(const Options& options) {
  return options.definitions.empty() ? data_folder() / "operators" : std::filesystem::path(options.definitions);
}

algebra::Library load_library(const Options& options) {
  const auto folder = definitions_folder(options);
  if (!std::filesystem::is_directory(folder)) {
    throw runtime::InputError(folder.string(), "is no folder; expected operator definitions (*.op) in it");
  }
  return algebra::Library::load(folder);
}

void on_first_rank(const runtime::Communicator& world, const std::function<void()>& action) {
  std::string failure;  // exit code, space, message
  if (world.is_root()) {
    try {
      action();
    } catch (const runtime::Error& error) {
      failure = std::to_string(error.exit_code()) + " " + error.what();
    }
  }
  world.broadcast(failure);
  if (!failure.empty()) throw FailedOnFirstRank(failure.substr(failure.find(' ') + 1), std::atoi(failure.c_str()));
}

std::filesystem::path rules_file(const Options& options) {
  const std::filesystem::path given = options.rules;
  return std::filesystem::is_directory(given) ? given / "rules.rmdb" : given;
}

}  // namespace rulemill::cli
