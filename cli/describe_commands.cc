// `rulemill completion` and `rulemill man`: the command line described by the program itself.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/choice_option.h"
#include "cli/command.h"
#include "cli/manual/command_table.h"
#include "cli/manual/completion.h"
#include "cli/manual/manual_page.h"
#include "cli/shipped_files.h"
#include "runtime/files/atomic_file.h"
#include "runtime/mpi/on_first_rank.h"
#include "runtime/text/error.h"
#include "runtime/text/unknown_name.h"

namespace rulemill::cli {
namespace {

struct ManOptions {
  std::vector<std::string> words;
  std::string out;
};

/// Returns the command that the words name. Throws UsageError if there is none.
const CommandEntry& find_command(const CommandEntry& root, const std::vector<std::string>& words) {
  const CommandEntry* command = &root;
  for (const std::string& word : words) {
    const auto found = std::ranges::find(command->subcommands, word, &CommandEntry::last_word);
    if (found == command->subcommands.end()) {
      std::vector<std::string> known;
      for (const CommandEntry& subcommand : command->subcommands) known.push_back(subcommand.last_word());
      throw runtime::UsageError("COMMAND", runtime::unknown_name("command", word, known));
    }
    command = &*found;
  }
  return *command;
}

void write_manual(Context& context, const CommandEntry& root, const ManOptions& given) {
  if (given.out.empty()) return context.print(manual_page(find_command(root, given.words), root));
  const std::filesystem::path folder = given.out;
  runtime::require_writable_folder(folder);
  for (const CommandEntry* command : all_commands(find_command(root, given.words)))
    runtime::write_file(folder / (manual_page_name(*command) + ".1"), manual_page(*command, root));
}

}  // namespace

void add_completion(CLI::App& app, Command& chosen) {
  auto* completion = app.add_subcommand("completion", "Print a completion script for a shell");
  auto shell = std::make_shared<std::string>();
  auto words = std::make_shared<std::vector<std::string>>();
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(one_of("shell", {"bash", "fish", "zsh"}));
  completion->add_option("WORD", *words, "after --, for the script: print what can stand for the last word of a line");
  completion->callback([shell, words, &app, &chosen] {
    chosen = [shell, words, &app](Context& context) {
      context.print(words->empty() ? runtime::read_file(shipped_folder("completion") / *shell)
                                   : completions(describe_command(app), *words));
    };
  });
}

void add_man(CLI::App& app, Options& options, Command& chosen) {
  auto* man = app.add_subcommand("man", "Print the manual page of the program or of a command");
  auto given = std::make_shared<ManOptions>();
  man->add_option("COMMAND", given->words, "the command, such as `rules list`; default: the program");
  options.files.writes(
      man->add_option("--out", given->out, "folder to write the page to, with those of all subcommands"),
      PathKind::Folder);
  man->callback([given, &app, &chosen] {
    chosen = [given, &app](Context& context) {
      runtime::on_first_rank(context.world, [&] { write_manual(context, describe_command(app), *given); });
    };
  });
}

}  // namespace rulemill::cli
