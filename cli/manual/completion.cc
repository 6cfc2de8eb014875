#include "cli/manual/completion.h"

#include <algorithm>

namespace rulemill::cli {
namespace {

std::string values_of(const ArgumentEntry& argument) {
  if (argument.choices.empty())
    return argument.value == "PATH" ? "file\n" : argument.value == "FOLDER" ? "folder\n" : "\n";
  std::string lines = "\n";
  for (const std::string& choice : argument.choices) lines += choice + "\n";
  return lines;
}

}  // namespace

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

}  // namespace rulemill::cli
