// Common parts of all subcommands: shared options, the context of a run, and the folders that ship with the program.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "algebra/library/library.h"
#include "cli/file_options.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/on_first_rank.h"
#include "runtime/process/progress.h"
#include "runtime/text/json.h"

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
  bool quiet = false;
  FileOptions files;
};

/// The arguments and the report of the subcommand that runs.
struct Context {
  const runtime::Communicator& world;
  Options options;
  runtime::ProgressMode progress = runtime::ProgressMode::Auto;  // Off on the other ranks
  runtime::Json report = runtime::Json::object();                // written by --json
  bool silent = false;                                           // print() does nothing
  bool prints_to_stderr = false;                                 // because an output is standard output

  /// Prints to stdout, or stderr, on the first rank.
  void print(const std::string& text) const;
  /// Returns whether print() prints to a terminal that shows colours.
  bool uses_colours() const;
};

using Command = std::function<void(Context&)>;

/// Options that several subcommands have.
void add_profile_options(CLI::App& app, Options& options);                              // --profile, --max-ops, --seed
void add_out_option(CLI::App& app, Options& options);                                   // --out, required
void add_rules_operand(CLI::App& app, Options& options, const std::string& more = "");  // RULES
void add_databases_option(CLI::App& app, Options& options, std::vector<std::string>& rules);  // --rules, repeated
void add_definitions_option(CLI::App& app, Options& options);                                 // --definitions
void add_common_options(CLI::App& app, Options& options);   // --json, --quiet, --log-level, --progress
void add_general_options(CLI::App& app, Options& options);  // --definitions, and the common ones

/// A parsed line chooses the function, with the command's own options.
template <class Given>
void choose(CLI::App& app, Command& chosen, void (*run)(Context&, const Given&), std::shared_ptr<Given> given) {
  app.callback([=, &chosen] { chosen = [=](Context& context) { run(context, *given); }; });
}
/// The same, on the first rank.
template <class Given>
void choose_on_first_rank(CLI::App& app, Command& chosen, void (*run)(Context&, const Given&),
                          std::shared_ptr<Given> given) {
  app.callback([=, &chosen] {
    chosen = [=](Context& context) { runtime::on_first_rank(context.world, [&] { run(context, *given); }); };
  });
}

/// Returns --definitions, or data_folder()/operators.
std::filesystem::path definitions_folder(const Options& options);
/// The same. Throws InputError if it is not a folder.
std::filesystem::path require_definitions_folder(const Options& options);
algebra::Library load_library(const Options& options);
/// Logs the warnings about the given folder of definitions, if it is not the installed one.
void warn_of_definitions(const Options& options);
/// Returns --rules, or its rules.rmdb if it is a folder.
std::filesystem::path rules_file(const Options& options);

/// Each adds one subcommand or a group of them. Parsing sets `chosen`.
void add_check(CLI::App& app, Options& options, Command& chosen);
void add_ci(CLI::App& app, Options& options, Command& chosen);
void add_completion(CLI::App& app, Command& chosen);
void add_doctor(CLI::App& app, Options& options, Command& chosen);
void add_equal(CLI::App& app, Options& options, Command& chosen);
void add_gpu(CLI::App& app, Options& options, Command& chosen);
void add_derive(CLI::App& app, Options& options, Command& chosen);
void add_info(CLI::App& app, Options& options, Command& chosen);
void add_man(CLI::App& app, Options& options, Command& chosen);
void add_operators(CLI::App& app, Options& options, Command& chosen);
void add_optimize(CLI::App& app, Options& options, Command& chosen);
void add_proof_worker(CLI::App& app, Command& chosen);
void add_rules(CLI::App& app, Options& options, Command& chosen);
void add_stages(CLI::App& app, Options& options, Command& chosen);
void add_status(CLI::App& app, Options& options, Command& chosen);
void add_variants(CLI::App& app, Options& options, Command& chosen);

// The subcommands of `rulemill rules`.

void add_rules_import(CLI::App& rules, Options& options, Command& chosen);
void add_rules_export(CLI::App& rules, Options& options, Command& chosen);
void add_rules_diff(CLI::App& rules, Options& options, Command& chosen);
void add_rules_gallery(CLI::App& rules, Options& options, Command& chosen);
void add_rules_generalize(CLI::App& rules, Options& options, Command& chosen);

}  // namespace rulemill::cli
