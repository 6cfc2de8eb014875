// What every subcommand shares: the options that many take, the ranks, the report, and how a run ends.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "algebra/library/library.h"
#include "runtime/communicator.h"
#include "runtime/json_report.h"
#include "runtime/progress.h"

namespace rulemill::cli {

struct Options {
  std::string profile;
  std::optional<std::uint32_t> max_ops;
  std::string out;
  std::string rules;
  std::optional<std::uint64_t> seed;
  std::string definitions;
  std::string json;
  std::string log_level = "info";
  std::string progress = "auto";
};

/// Handed to the subcommand that was chosen.
struct Context {
  const runtime::Communicator& world;
  Options options;
  runtime::ProgressMode progress = runtime::ProgressMode::Auto;  // Off on all ranks but the first
  runtime::Json report = runtime::Json::object();                // what --json writes
  bool silent = false;                                           // prints nothing

  /// Prints to stdout, on the first rank alone.
  void print(const std::string& text) const;
};

using Command = std::function<void(Context&)>;

/// Options that several subcommands take; call those that apply.
void add_profile_options(CLI::App& app, Options& options);              // --profile, --max-ops, --seed
void add_out_option(CLI::App& app, Options& options);                   // --out, required
void add_rules_option(CLI::App& app, Options& options, bool required);  // --rules
void add_definitions_option(CLI::App& app, Options& options);           // --definitions
void add_common_options(CLI::App& app, Options& options);               // --json, --log-level, --progress

/// The folder `data` that belongs to this binary: $RULEMILL_DATA, beside the source tree, or installed.
/// Throws UsageError if there is none.
std::filesystem::path data_folder();
/// --definitions, or data_folder()/operators.
std::filesystem::path definitions_folder(const Options& options);
algebra::Library load_library(const Options& options);
/// --rules, or rules.rmdb in it if it is a folder.
std::filesystem::path rules_file(const Options& options);

/// Runs `action` on the first rank. If it throws, every rank throws the same: nobody waits for a rank that has failed.
void on_first_rank(const runtime::Communicator& world, const std::function<void()>& action);

/// Each adds one subcommand, or those that belong together, which set `chosen`.
void add_check(CLI::App& app, Options& options, Command& chosen);
void add_doctor(CLI::App& app, Options& options, Command& chosen);
void add_gpu(CLI::App& app, Options& options, Command& chosen);
void add_implied(CLI::App& app, Options& options, Command& chosen);
void add_info(CLI::App& app, Options& options, Command& chosen);
void add_operators(CLI::App& app, Options& options, Command& chosen);
void add_optimize(CLI::App& app, Options& options, Command& chosen);
void add_proof_helper(CLI::App& app, Command& chosen);
void add_rules(CLI::App& app, Options& options, Command& chosen);
void add_stages(CLI::App& app, Options& options, Command& chosen);
void add_status(CLI::App& app, Options& options, Command& chosen);

}  // namespace rulemill::cli
