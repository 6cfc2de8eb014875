#include "cli/manual/command_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "runtime/text/join_text.h"

namespace rulemill::cli {
namespace {

/// The words of "TEXT:{auto,cpu}".
std::vector<std::string> parse_choices(const std::string& type) {
  const std::size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  std::vector<std::string> words;
  std::istringstream list(type.substr(open + 1, close - open - 1));
  for (std::string word; std::getline(list, word, ',');) words.push_back(word);
  return words;
}

/// The placeholder for a value of a type like "UINT:N".
std::string value_placeholder(const std::string& type) {
  const std::string last = type.substr(type.rfind(':') + 1);
  for (const char* known : {"PATH", "FOLDER", "N", "NUMBER", "SIZE"}) {
    if (last == known) return last;
  }
  return "TEXT";
}

ArgumentEntry describe_argument(const CLI::Option& option) {
  ArgumentEntry entry;
  const bool is_operand = option.get_positional();
  entry.name = is_operand ? option.get_name(true) : option.get_name();
  if (!is_operand && !option.get_snames().empty()) entry.short_name = "-" + option.get_snames()[0];
  if (option.get_items_expected_max() > 0) entry.value = value_placeholder(option.get_type_name());
  entry.choices = parse_choices(option.get_type_name());
  entry.description = option.get_description();
  if (option.get_default_str() != "[]") entry.default_value = option.get_default_str();  // of a list: empty
  entry.required = option.get_required();
  entry.repeated = option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
  for (const CLI::Option* other : option.get_excludes()) entry.excludes.push_back(other->get_name());
  std::ranges::sort(entry.excludes);
  return entry;
}

CommandEntry describe(const CLI::App& app, const std::string& prefix) {
  CommandEntry entry;
  entry.name = prefix + app.get_name();
  entry.description = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? entry.operands : entry.options).push_back(describe_argument(*option));
  }
  for (const CLI::App* subcommand : app.get_subcommands(nullptr)) {
    if (!subcommand->get_group().empty()) entry.subcommands.push_back(describe(*subcommand, entry.name + " "));
  }
  std::ranges::sort(entry.subcommands, {}, &CommandEntry::name);
  return entry;
}

void add_commands(const CommandEntry& command, std::vector<const CommandEntry*>& all) {
  all.push_back(&command);
  for (const CommandEntry& subcommand : command.subcommands) add_commands(subcommand, all);
}

}  // namespace

std::string describe_choices(const std::vector<std::string>& words) {
  return fmt::format("{{{}}}", fmt::join(words, ","));
}

std::string ArgumentEntry::syntax() const {
  std::string text = short_name.empty() ? name : short_name + ", " + name;
  if (name.starts_with("-") && !is_flag()) text += " " + (choices.empty() ? value : describe_choices(choices));
  return repeated ? text + "..." : text;
}

std::string ArgumentEntry::details() const {
  std::vector<std::string> notes;
  if (!default_value.empty()) notes.push_back("default: " + default_value);
  if (required && name.starts_with("-")) notes.emplace_back("required");
  if (!required && !name.starts_with("-")) notes.emplace_back("optional");
  if (!excludes.empty()) notes.push_back("not with " + runtime::join_text(excludes));
  return notes.empty() ? description : fmt::format("{} ({})", description, fmt::join(notes, "; "));
}

std::string CommandEntry::usage() const {
  std::string text = name;
  if (!subcommands.empty()) text += " COMMAND";
  for (const ArgumentEntry& operand : operands) {
    const std::string syntax = operand.syntax();
    text += operand.required ? " " + syntax : " [" + syntax + "]";
  }
  for (const ArgumentEntry& option : options) {
    if (option.required) text += " " + option.syntax();
  }
  return text + " [OPTION...]";
}

CommandEntry describe_command(const CLI::App& app) {
  std::string prefix;
  for (const CLI::App* parent = app.get_parent(); parent != nullptr; parent = parent->get_parent())
    prefix = parent->get_name() + " " + prefix;
  return describe(app, prefix);
}

const CLI::App& parsed_command(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

std::vector<const CommandEntry*> all_commands(const CommandEntry& root) {
  std::vector<const CommandEntry*> all;
  add_commands(root, all);
  return all;
}

}  // namespace rulemill::cli
