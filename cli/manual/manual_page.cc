#include "cli/manual/manual_page.h"

#include <algorithm>

#include "cli/manual/help_text.h"

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

}  // namespace

std::string manual_page_name(const CommandEntry& command) {
  std::string name = command.name;
  std::ranges::replace(name, ' ', '-');
  return name;
}

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

}  // namespace rulemill::cli
