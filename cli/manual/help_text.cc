#include "cli/manual/help_text.h"

#include <sstream>

#include "runtime/text/printable.h"

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

}  // namespace rulemill::cli
