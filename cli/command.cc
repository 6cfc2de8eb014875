#include "cli/command.h"

#include <spdlog/spdlog.h>

#include <cstdio>

#include "algebra/library/definition_warnings.h"
#include "cli/number_option.h"
#include "cli/shipped_files.h"
#include "runtime/process/terminal.h"
#include "runtime/text/error.h"

namespace rulemill::cli {

void Context::print(const std::string& text) const {
  if (!world.is_root() || silent) return;
  std::FILE* stream = prints_to_stderr ? stderr : stdout;
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

bool Context::uses_colours() const { return runtime::shows_colours(prints_to_stderr ? stderr : stdout); }

void add_profile_options(CLI::App& app, Options& options) {
  options.files
      .reads(app.add_option("--profile", options.profile,
                            "profile (TOML), or a folder of profiles whose candidates are proved together"),
             PathKind::Profile)
      ->required();
  app.add_option("--max-ops", options.max_ops, "maximum number of operators in a graph; default: the profile's")
      ->check(whole_number(1, 8));
  app.add_option("--seed", options.seed, "seed of the random inputs; default: the profile's")->check(whole_number());
}

void add_out_option(CLI::App& app, Options& options) {
  options.files
      .writes(app.add_option("--out", options.out, "output folder; an interrupted run resumes here"), PathKind::Run)
      ->required();
}

void add_rules_operand(CLI::App& app, Options& options, const std::string& more) {
  // The name --rules, which some commands had before, is not in the help.
  options.files
      .reads(
          app.add_option("RULES,--rules", options.rules, "rule database (*.rmdb), or a folder with rules.rmdb" + more),
          PathKind::Database)
      ->required();
}

void add_databases_option(CLI::App& app, Options& options, std::vector<std::string>& rules) {
  options.files
      .reads(app.add_option("--rules", rules,
                            "rule database (*.rmdb), or a folder with rules.rmdb; may be repeated; default: the "
                            "rules of data/profiles/models, made on first use"),
             PathKind::Database)
      ->allow_extra_args(false);
}

void add_definitions_option(CLI::App& app, Options& options) {
  options.files.reads(app.add_option("--definitions", options.definitions,
                                     "folder of operator definitions (*.op); default: the installed ones"),
                      PathKind::Definitions);
}

void add_common_options(CLI::App& app, Options& options) {
  options.files.writes(
      app.add_option("--json", options.json, "write all results to this file (JSON); - means standard output"));
  app.add_flag("-q,--quiet", options.quiet, "print only errors, and outputs whose file is -");
  app.add_option("--log-level", options.log_level, "minimum severity of log messages on stderr")
      ->check(one_of("level", {"trace", "debug", "info", "warn", "error", "off"}));
  app.add_option("--progress", options.progress,
                 "progress on stderr; plain: as lines; auto: as lines unless on a terminal")
      ->check(one_of("mode", {"auto", "plain", "off"}));
}

void add_general_options(CLI::App& app, Options& options) {
  add_definitions_option(app, options);
  add_common_options(app, options);
}

std::filesystem::path definitions_folder(const Options& options) {
  return options.definitions.empty() ? data_folder() / "operators" : std::filesystem::path(options.definitions);
}

std::filesystem::path require_definitions_folder(const Options& options) {
  const auto folder = definitions_folder(options);
  if (!std::filesystem::is_directory(folder))
    throw runtime::InputError(folder.string(), "is not a folder; expected a folder of operator definitions (*.op)");
  return folder;
}

algebra::Library load_library(const Options& options) {
  return algebra::Library::load(require_definitions_folder(options));
}

void warn_of_definitions(const Options& options) {
  const std::filesystem::path given = options.definitions;
  std::error_code error;
  if (given.empty() || !std::filesystem::is_directory(given) ||
      std::filesystem::equivalent(given, shipped_folder("operators"), error))
    return;
  try {
    for (const algebra::DefinitionWarning& warning : algebra::find_definition_warnings(given))
      spdlog::warn("{}: {}", warning.place, warning.text);
  } catch (const runtime::InputError&) {  // reported by the command itself
  }
}

std::filesystem::path rules_file(const Options& options) {
  const std::filesystem::path given = options.rules;
  return std::filesystem::is_directory(given) ? given / "rules.rmdb" : given;
}

}  // namespace rulemill::cli
