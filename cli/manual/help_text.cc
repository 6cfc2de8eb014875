#include "cli/manual/help_text.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "runtime/text/printable.h"
#include "runtime/text/unknown_name.h"

namespace rulemill::cli {
namespace {

constexpr std::size_t text_column = 28, max_columns = 100;

/// A name and its text, which begins in the text column and is wrapped there.
std::string help_item(const std::string& name, const std::string& text) {
  const std::string indent(text_column, ' ');
  std::string line = "  " + name, result;
  if (line.size() + 2 > text_column) {
    result = line + "\n";
    line = indent;
  } else {
    line.resize(text_column, ' ');
  }
  std::istringstream words(text);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && runtime::display_width(line) + 1 + runtime::display_width(word) > max_columns) {
      result += line + "\n";
      line = indent + word;
    } else {
      line += (first ? "" : " ") + word;
    }
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return result + line + "\n";
}

std::string argument_items(const std::string& title, const std::vector<ArgumentEntry>& arguments) {
  if (arguments.empty()) return {};
  std::string text = "\n" + title + ":\n";
  for (const ArgumentEntry& argument : arguments) text += help_item(argument.syntax(), argument.details());
  return text;
}

}  // namespace

std::string help_text(const CommandEntry& command) {
  std::string text = command.description + "\nUsage: " + command.usage() + "\n";
  text += argument_items("Operands", command.operands);
  text += argument_items("Options", command.options);
  if (command.subcommands.empty()) return text;
  text += "\nCommands:\n";
  for (const CommandEntry& subcommand : command.subcommands)
    text += help_item(subcommand.last_word(), subcommand.description);
  text += "\n`" + command.name + " COMMAND --help` describes a command; `rulemill man` prints manual pages.\n";
  const bool is_program = command.name.find(' ') == std::string::npos;
  if (!is_program) return text;
  text += "\nExit codes:\n";
  for (const NamedText& code : exit_codes) text += help_item(code.name, code.text);
  return text;
}

namespace {

/// An argument that the parser could not place; empty: none.
std::string first_unexpected(const CLI::App& command) {
  const std::vector<std::string> unexpected = command.remaining();
  const auto found = std::ranges::find_if(unexpected, [](const std::string& word) { return word != "--"; });
  return found == unexpected.end() ? "" : *found;
}

std::string unknown_option(const std::string& word, const CommandEntry& command) {
  std::vector<std::string> known;
  for (const ArgumentEntry& option : command.options) known.push_back(option.name);
  return runtime::unknown_name("option", word.substr(0, word.find('=')), known);
}

std::string unknown_subcommand(const std::string& word, const CommandEntry& command) {
  std::vector<std::string> known;
  for (const CommandEntry& subcommand : command.subcommands) known.push_back(subcommand.last_word());
  return runtime::unknown_name("command", word, known);
}

/// The first operand that is required and missing; empty: none.
std::string missing_operand(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() && option->get_required() && option->count() == 0) return option->get_name(true);
  }
  return {};
}

std::string description_of(const CLI::App& parsed, const CommandEntry& command, const CLI::ParseError& error) {
  const std::string unexpected = first_unexpected(parsed);
  if (unexpected.starts_with("-")) return unknown_option(unexpected, command);
  if (!command.subcommands.empty())
    return unexpected.empty() ? "a command is required" : unknown_subcommand(unexpected, command);
  if (const std::string missing = missing_operand(parsed); !missing.empty()) return missing + " is required";
  if (!unexpected.empty()) return "unexpected argument '" + unexpected + "'; expected " + command.usage();
  return error.what();
}

}  // namespace

void require_known_subcommand(const CLI::App& app) {
  const CLI::App& parsed = parsed_command(app);
  const CommandEntry command = describe_command(parsed);
  const std::string word = first_unexpected(parsed);
  if (command.subcommands.empty() || word.empty() || word.starts_with("-")) return;
  throw runtime::UsageError("", unknown_subcommand(word, command) + " (see " + command.name + " --help)");
}

runtime::UsageError usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& parsed = parsed_command(app);
  const CommandEntry command = describe_command(parsed);
  return {"", description_of(parsed, command, error) + " (see " + command.name + " --help)"};
}

}  // namespace rulemill::cli
