#include "cli/manual/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

namespace rulemill::cli {
namespace {

/// The text with a backslash before each of the characters.
std::string with_backslashes(const std::string& text, std::string_view characters) {
  std::string result;
  for (const char c : text) {
    if (characters.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

/// In single quotes, for bash and zsh.
std::string in_quotes(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string fish_quoted(const std::string& text) { return "'" + with_backslashes(text, "\\'") + "'"; }

bool is_path(const ArgumentEntry& argument) { return argument.value == "PATH" || argument.value == "FOLDER"; }

std::vector<std::string> names_of(const ArgumentEntry& option) {
  if (option.short_name.empty()) return {option.name};
  return {option.short_name, option.name};
}

/// The names of all commands but the program, each in single quotes.
std::vector<std::string> quoted_commands(const CommandEntry& root) {
  std::vector<std::string> names;
  for (const CommandEntry* command : all_commands(root)) {
    if (command != &root) names.push_back(in_quotes(command->name));
  }
  return names;
}

/// What bash offers for a value or an operand.
std::string bash_values(const ArgumentEntry& argument) {
  if (!argument.choices.empty()) return fmt::format("words='{}'", fmt::join(argument.choices, " "));
  if (argument.value == "FOLDER") return "paths=directory";
  return is_path(argument) ? "paths=file" : ":";
}

/// A line of bash's `case` for each option of the command that has a value.
std::string bash_option_cases(const CommandEntry& command) {
  std::string text;
  for (const ArgumentEntry& option : command.options) {
    if (option.is_flag()) continue;
    for (const std::string& name : names_of(option))
      text += fmt::format("    '{} {}') {} ;;\n", command.name, name, bash_values(option));
  }
  return text;
}

/// The line of bash's `case` for the words of a command that are no values of options.
std::string bash_command_case(const CommandEntry& command) {
  std::vector<std::string> options, words;
  for (const ArgumentEntry& option : command.options) {
    for (const std::string& name : names_of(option)) options.push_back(name);
  }
  for (const CommandEntry& subcommand : command.subcommands) words.push_back(subcommand.last_word());
  std::string values = fmt::format("words='{}'", fmt::join(words, " "));
  if (!command.operands.empty()) values = bash_values(command.operands.front());
  return fmt::format("        '{}') if [[ $current == -* ]]; then words='{}'; else {}; fi ;;\n", command.name,
                     fmt::join(options, " "), values);
}

/// "_rulemill_rules_list".
std::string zsh_function(const CommandEntry& command) {
  std::string name = "_" + command.name;
  for (char& c : name) c = c == ' ' || c == '-' ? '_' : c;
  return name;
}

/// The part of a specification of `_arguments` after the name: ":PATH:_files".
std::string zsh_values(const ArgumentEntry& argument) {
  const std::string label = argument.name.starts_with("-") ? argument.value : argument.name;
  if (!argument.choices.empty()) return fmt::format(":{}:({})", label, fmt::join(argument.choices, " "));
  if (argument.value == "FOLDER") return ":" + label + ":_files -/";
  return ":" + label + ":" + (is_path(argument) ? "_files" : " ");
}

std::string zsh_specifications(const CommandEntry& command) {
  std::string text;
  for (const ArgumentEntry& option : command.options) {
    for (const std::string& name : names_of(option)) {
      const bool is_long = name.starts_with("--");
      const std::string values = option.is_flag() ? "" : zsh_values(option);
      text += " \\\n    " + in_quotes((option.repeated ? "*" : "") + name + (option.is_flag() || !is_long ? "" : "=") +
                                      "[" + with_backslashes(option.description, "\\[]") + "]" + values);
    }
  }
  for (const ArgumentEntry& operand : command.operands)
    text += " \\\n    " + in_quotes((operand.repeated ? "*" : operand.required ? "" : ":") + zsh_values(operand));
  return text;
}

/// A function that completes the command, after those of its subcommands.
std::string zsh_functions(const CommandEntry& command) {
  std::string text;
  for (const CommandEntry& subcommand : command.subcommands) text += zsh_functions(subcommand);
  text += zsh_function(command) + "() {\n";
  if (command.subcommands.empty()) return text + "  _arguments -s" + zsh_specifications(command) + "\n}\n";
  std::string names, cases;
  for (const CommandEntry& subcommand : command.subcommands) {
    names += "    " + in_quotes(subcommand.last_word() + ":" + subcommand.description) + "\n";
    cases += fmt::format("        {}) {} ;;\n", subcommand.last_word(), zsh_function(subcommand));
  }
  return text + "  local curcontext=$curcontext state line\n  local -a commands=(\n" + names + "  )\n  _arguments -C" +
         zsh_specifications(command) +
         " \\\n    '1: :->command' '*:: :->arguments'\n  case $state in\n"
         "    command) _describe command commands ;;\n    arguments)\n      case $words[1] in\n" +
         cases + "      esac ;;\n  esac\n}\n";
}

/// What fish offers for a value or an operand.
std::string fish_values(const ArgumentEntry& argument) {
  if (!argument.choices.empty()) return fmt::format(" -x -a '{}'", fmt::join(argument.choices, " "));
  if (argument.value == "FOLDER") return " -x -a '(__fish_complete_directories)'";
  return is_path(argument) ? " -r -F" : " -x";
}

std::string fish_lines(const CommandEntry& command) {
  const std::string line = fmt::format("complete -c rulemill -n 'test (__rulemill_command) = \"{}\"'", command.name);
  std::string text;
  for (const CommandEntry& subcommand : command.subcommands)
    text += line + " -a " + subcommand.last_word() + " -d " + fish_quoted(subcommand.description) + "\n";
  for (const ArgumentEntry& option : command.options) {
    text += line + (option.short_name.empty() ? "" : " -s " + option.short_name.substr(1)) + " -l " +
            option.name.substr(2) + (option.is_flag() ? "" : fish_values(option)) + " -d " +
            fish_quoted(option.description) + "\n";
  }
  if (command.operands.empty()) return text;
  const ArgumentEntry& operand = command.operands.front();
  if (!operand.choices.empty()) return text + fmt::format("{} -a '{}'\n", line, fmt::join(operand.choices, " "));
  return is_path(operand) ? text + line + " -F\n" : text;
}

}  // namespace

std::string bash_completion(const CommandEntry& root) {
  std::string options, commands;
  for (const CommandEntry* command : all_commands(root)) {
    options += bash_option_cases(*command);
    commands += bash_command_case(*command);
  }
  // The `=` of --option=value is a word of its own.
  return fmt::format(R"(# Completion of rulemill for bash. To load it: source <(rulemill completion bash)
_rulemill() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command=rulemill words='' paths='' i
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command ${{COMP_WORDS[i]}}" in
      {}) command+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$command $previous" in
{}    *)
      case $command in
{}      esac ;;
  esac
  mapfile -t COMPREPLY < <(compgen ${{paths:+-A "$paths"}} -W "$words" -- "$current")
  [[ -z $paths ]] || compopt -o filenames 2>/dev/null
}}
complete -F _rulemill rulemill
)",
                     fmt::join(quoted_commands(root), " | "), options, commands);
}

std::string zsh_completion(const CommandEntry& root) {
  return "#compdef rulemill\n# Completion of rulemill for zsh: a file _rulemill in a folder of $fpath\n" +
         zsh_functions(root) + R"(if [[ $funcstack[1] == _rulemill ]]; then
  _rulemill "$@"
else
  compdef _rulemill rulemill
fi
)";
}

std::string fish_completion(const CommandEntry& root) {
  std::string text =
      fmt::format(R"(# Completion of rulemill for fish: a file rulemill.fish in ~/.config/fish/completions
function __rulemill_command
  set -l command rulemill
  for word in (commandline -opc)
    switch "$command $word"
      case {}
        set command "$command $word"
    end
  end
  echo $command
end
complete -c rulemill -f
)",
                  fmt::join(quoted_commands(root), " "));
  for (const CommandEntry* command : all_commands(root)) text += fish_lines(*command);
  return text;
}

}  // namespace rulemill::cli
