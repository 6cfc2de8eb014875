// The commands of the program with their operands and options, as the parser has them. Help, completion and manual
// pages are made from it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace rulemill::cli {

/// An option, or an operand: an argument that is named by its place.
struct ArgumentEntry {
  std::string name;        // "--rules"; of an operand "MODEL"
  std::string short_name;  // "-h"; empty: none
  std::string value;       // "PATH", "FOLDER", "N", "NUMBER", "SIZE" or "TEXT"; empty: a flag
  std::vector<std::string> choices;
  std::string description;
  std::string default_value;  // empty: none, or in the description
  std::vector<std::string> excludes;
  bool required = false, repeated = false;

  bool is_flag() const { return value.empty(); }
  /// "--cost {analytic,table}", "-h", "MODEL": the argument with a placeholder for its value.
  std::string syntax() const;
  /// The description with what else matters: "threads per rank (default: 0)".
  std::string details() const;
};

struct CommandEntry {
  std::string name;  // with the program: "rulemill rules list"
  std::string description;
  std::vector<ArgumentEntry> operands, options;
  std::vector<CommandEntry> subcommands;

  std::string last_word() const { return name.substr(name.rfind(' ') + 1); }
  /// "rulemill rules list RULES [OPTION...]".
  std::string usage() const;
};

/// Describes the command and its subcommands, without hidden ones.
CommandEntry describe_command(const CLI::App& app);
/// Returns the command and all its subcommands, depth first.
std::vector<const CommandEntry*> all_commands(const CommandEntry& root);

/// Returns the innermost command of a parsed line.
const CLI::App& parsed_command(const CLI::App& app);

/// The description of a validator, from which describe_command() reads the choices.
std::string describe_choices(const std::vector<std::string>& words);

}  // namespace rulemill::cli
