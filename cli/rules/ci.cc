// `rulemill ci FILE...`: verdicts on rules and pairs of models, as continuous integration reads them. The process
// becomes python/rulemill/ci, which runs `rules import` and `equal` and writes the reports.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/command.h"
#include "cli/model_processes.h"
#include "cli/number_option.h"
#include "cli/rules/rule_database.h"
#include "runtime/mpi/mpi_session.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

struct CiOptions {
  std::vector<std::string> files, rules, allowed;
  std::string junit, sarif, taso_table;
};

void run(Context& context, const CiOptions& given) {
  if (runtime::has_mpi_launcher()) throw runtime::UsageError("ci", "is one process; run it without mpirun or srun");
  std::vector<std::string> command = ci_command();
  if (command.empty()) throw runtime::Error("ci", "needs Python, and none was found; set RULEMILL_PYTHON to one");
  const Options& options = context.options;
  for (const std::string& file : {given.junit, given.sarif, options.json}) {
    if (!file.empty()) require_writable(file);
  }
  const auto optional = [](const std::string& text) { return text.empty() ? runtime::Json() : runtime::Json(text); };
  command.push_back(runtime::to_utf8_text({{"files", given.files},
                                           {"rules", given.rules},
                                           {"allow", given.allowed},
                                           {"junit", given.junit},
                                           {"sarif", given.sarif},
                                           {"json", options.json},
                                           {"taso_table", optional(given.taso_table)},
                                           {"definitions", optional(options.definitions)},
                                           {"log_level", options.log_level},
                                           {"progress", context.progress != runtime::ProgressMode::Off},
                                           {"prints_to_stderr", context.prints_to_stderr},
                                           {"quiet", options.quiet}}));
  ::setenv("RULEMILL", runtime::current_executable().c_str(), 1);
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  throw runtime::Error(command[0], std::string("cannot be started: ") + std::strerror(errno));
}

}  // namespace

void add_ci(CLI::App& app, Options& options, Command& chosen) {
  auto* ci = app.add_subcommand(
      "ci", "Prove files of rules and compare pairs of models, with reports for continuous integration");
  auto given = std::make_shared<CiOptions>();
  options.files
      .reads(ci->add_option("FILE", given->files,
                            "rules as `rules import` reads them; BEFORE.onnx AFTER.onnx: two models to compare"),
             PathKind::Database)
      ->required();
  options.files.writes(ci->add_option("--junit", given->junit, "write the verdicts to this file (JUnit's XML)"));
  options.files.writes(
      ci->add_option("--sarif", given->sarif, "write the verdicts that do not pass to this file (SARIF 2.1.0)"));
  ci->add_option("--allow", given->allowed, "verdict that is no failure; may be repeated")
      ->allow_extra_args(false)
      ->check(one_of("verdict", {"narrowed", "unknown"}));
  options.files
      .reads(
          ci->add_option("--rules", given->rules,
                         "models: rule database (*.rmdb), or a folder with rules.rmdb; may be repeated; default: the "
                         "default rules"),
          PathKind::Database)
      ->allow_extra_args(false);
  add_taso_table_option(*ci, options, given->taso_table);
  add_general_options(*ci, options);
  choose(*ci, chosen, run, given);
}

}  // namespace rulemill::cli
