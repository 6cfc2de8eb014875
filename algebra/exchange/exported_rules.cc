#include "algebra/exchange/exported_rules.h"

#include <map>

namespace rulemill::algebra {

std::string export_header(const std::string& title, const ExportedRules& rules, const std::string& comment) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const SkippedRule& skipped : rules.skipped) by_reason[skipped.reason].push_back(skipped.rule);
  std::string text = comment + title + ": " + std::to_string(rules.written.size()) + " rules, " +
                     std::to_string(rules.skipped.size()) + " skipped.\n";
  for (const auto& [reason, names] : by_reason) {
    text += comment + "skipped " + std::to_string(names.size()) + ", since " + reason + ":\n";
    constexpr std::size_t max_columns = 110;
    std::string line;
    for (const std::string& name : names) {
      if (!line.empty() && line.size() + name.size() > max_columns) {
        text += comment + " " + line + "\n";
        line.clear();
      }
      line += " " + name;
    }
    text += comment + " " + line + "\n";
  }
  return text;
}

}  // namespace rulemill::algebra
