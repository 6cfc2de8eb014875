// `rulemill completion` and `rulemill man`: the command line described by the program itself.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/manual/command_table.h"
#include "cli/manual/help_text.h"
#include "cli/number_option.h"
#include "cli/shipped_files.h"
#include "runtime/files/atomic_file.h"
#include "runtime/mpi/on_first_rank.h"
#include "runtime/text/error.h"
#include "runtime/text/unknown_name.h"

namespace rulemill::cli {
namespace {

/// Text that roff prints as it is: hyphens stay ASCII, and no character begins a request.
std::string roff(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (result.empty() && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string section(const std::string& title) { return ".SH " + title + "\n"; }

std::string tagged(const std::string& tag, const std::string& text) {
  return ".TP\n.B " + roff(tag) + "\n" + roff(text) + "\n";
}

std::string arguments(const std::string& title, const std::vector<ArgumentEntry>& entries) {
  if (entries.empty()) return {};
  std::string text = section(title);
  for (const ArgumentEntry& entry : entries) text += tagged(entry.syntax(), entry.details());
  return text;
}

template <class Table>
std::string table_section(const std::string& title, const Table& table) {
  std::string text = section(title);
  for (const NamedText& row : table) text += tagged(row.name, row.text);
  return text;
}

/// "rulemill-rules-list".
std::string manual_page_name(const CommandEntry& command) {
  std::string name = command.name;
  std::ranges::replace(name, ' ', '-');
  return name;
}

/// The program's page and those of the subcommands, as "name(1), name(1)".
std::string references(const CommandEntry& command, const CommandEntry& root) {
  std::vector<const CommandEntry*> related;
  if (&command != &root) related.push_back(&root);
  for (const CommandEntry& subcommand : command.subcommands) related.push_back(&subcommand);
  std::string text;
  for (const CommandEntry* other : related)
    text += ".BR " + roff(manual_page_name(*other)) + (other == related.back() ? " (1)\n" : " (1),\n");
  return text;
}

/// The page of a command. `root` is the program, to whose page it refers.
std::string manual_page(const CommandEntry& command, const CommandEntry& root) {
  const std::string name = manual_page_name(command);
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(),
                         [](char c) { return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  std::string text = ".TH " + roff(upper) + " 1 \"\" \"rulemill " RULEMILL_VERSION "\" \"User Commands\"\n";
  text += section("NAME") + roff(name) + " \\- " + roff(command.description) + "\n";
  text += section("SYNOPSIS") + ".B " + roff(command.usage()) + "\n";
  text += arguments("OPERANDS", command.operands) + arguments("OPTIONS", command.options);
  if (!command.subcommands.empty()) text += section("COMMANDS");
  for (const CommandEntry& subcommand : command.subcommands) text += tagged(subcommand.name, subcommand.description);
  text += table_section("EXIT STATUS", exit_codes);
  if (&command == &root) text += table_section("ENVIRONMENT", environment_variables);
  return text + section("SEE ALSO") + references(command, root);
}

std::string values_of(const ArgumentEntry& argument) {
  if (argument.choices.empty())
    return argument.value == "PATH" ? "file\n" : argument.value == "FOLDER" ? "folder\n" : "\n";
  std::string lines = "\n";
  for (const std::string& choice : argument.choices) lines += choice + "\n";
  return lines;
}

/// Returns what can stand for the last of the words after the program's name: a line "file", "folder" or "" for the
/// kind of paths, then a line "WORD" or "WORD\tDESCRIPTION" for each word. The `=` of --option=value is a word of its
/// own.
std::string completions(const CommandEntry& root, const std::vector<std::string>& words) {
  const CommandEntry* command = &root;
  const ArgumentEntry* option = nullptr;  // whose value follows
  std::size_t operand = 0;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].empty() || words[i] == "=") continue;
    const auto has_name = [&](const ArgumentEntry& each) {
      return each.name == words[i] || each.short_name == words[i];
    };
    const auto named = std::ranges::find_if(command->options, has_name);
    const auto below = std::ranges::find(command->subcommands, words[i], &CommandEntry::last_word);
    const bool is_operand = option == nullptr && !words[i].starts_with('-');
    option = named == command->options.end() || named->is_flag() ? nullptr : &*named;
    if (below != command->subcommands.end())
      command = &*below;
    else if (is_operand)
      ++operand;
  }
  if (option != nullptr) return values_of(*option);
  std::string lines = "\n";
  if (!words.empty() && words.back().starts_with('-')) {
    for (const ArgumentEntry& each : command->options) {
      const bool is_given = std::count(words.begin(), words.end() - 1, each.name) > 0;
      for (const std::string& name : {each.short_name, each.name})
        if (!name.empty() && (each.repeated || !is_given)) lines += name + "\t" + each.description + "\n";
    }
    return lines;
  }
  const std::vector<ArgumentEntry>& operands = command->operands;
  if (operand < operands.size()) return values_of(operands[operand]);
  if (!operands.empty() && operands.back().repeated) return values_of(operands.back());
  for (const CommandEntry& each : command->subcommands) lines += each.last_word() + "\t" + each.description + "\n";
  return lines;
}

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
