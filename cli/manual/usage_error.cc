#include "cli/manual/usage_error.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cli/manual/command_table.h"
#include "runtime/text/unknown_name.h"

namespace rulemill::cli {
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
