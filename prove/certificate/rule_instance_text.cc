#include "prove/certificate/rule_instance_text.h"

#include <algorithm>

#include "algebra/language/poly_parser.h"
#include "algebra/terms/rule_text.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::Rule;
using runtime::InputError;

namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

/// Calls visit(line) for each line that is not empty.
template <class Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Splits a text at the separators outside all brackets. An empty text has no parts. The parts refer to the text.
std::vector<std::string_view> split_outside(std::string_view text, char separator) {
  if (trimmed(text).empty()) return {};
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c != separator || depth != 0) continue;
    parts.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

/// Returns the name and the value of `name := value`.
std::pair<std::string_view, std::string_view> parse_binding(std::string_view binding) {
  const std::size_t sign = binding.find(":=");
  if (sign == std::string_view::npos)
    throw InputError("instance", "expected 'name := value', found '" + std::string(binding) + "'");
  return {trimmed(binding.substr(0, sign)), trimmed(binding.substr(sign + 2))};
}

}  // namespace

std::string to_string(const RuleInstance& rule_instance, const algebra::TermBank& bank,
                      const algebra::Symbols& symbols) {
  std::string text = rule_instance.rule + ":";
  const char* separator = " ";
  for (const auto& [variable, term] : rule_instance.terms) {
    text += separator + variable + " := " + algebra::to_string(term, bank, symbols);
    separator = ", ";
  }
  separator = "; ";
  for (const auto& [size, value] : rule_instance.sizes) {
    text += separator + size + " := " + symbols.to_string(value);
    separator = ", ";
  }
  return text;
}

std::string rule_name_in(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos)
    throw InputError("instance", "expected 'rule: …', found '" + std::string(line) + "'");
  return std::string(line.substr(0, colon));
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for_each_line(text, [&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

std::vector<std::string> rule_names_in(std::string_view lines) {
  std::vector<std::string> names;
  for_each_line(lines, [&](std::string_view line) { names.push_back(rule_name_in(line)); });
  return names;
}

std::string with_rules_renamed(std::string_view lines, const NewRuleName& new_name) {
  std::string text;
  for_each_line(lines, [&](std::string_view line) {
    const std::string rule = rule_name_in(line);
    text.append(new_name(rule)).append(line.substr(rule.size())) += '\n';
  });
  return text;
}

std::string with_rules_renamed(std::string_view lines, const std::map<std::string, std::string>& names) {
  return with_rules_renamed(lines, [&](const std::string& name) {
    const auto found = names.find(name);
    return found == names.end() ? name : found->second;
  });
}

RuleInstanceReader::RuleInstanceReader(const Rule& goal, algebra::Library& library, algebra::TermBank& bank,
                                       algebra::Symbols& symbols)
    : library_(library), bank_(bank), symbols_(symbols) {
  for (std::size_t i = 0; i < goal.variables.size(); ++i)
    variables_.emplace(bank.term(goal.variables[i]).name, goal.shapes.at(i));
}

/// Parses all terms at once. A rule without variables has only sizes.
RuleInstance RuleInstanceReader::read(const std::string& line) {
  RuleInstance result;
  result.rule = rule_name_in(line);
  std::vector<std::string_view> halves = split_outside(std::string_view(line).substr(result.rule.size() + 1), ';');
  if (halves.size() > 2) throw InputError("instance", "expected terms; sizes, found '" + line + "'");
  halves.resize(2);
  std::string outputs;
  for (const std::string_view binding : split_outside(halves[0], ',')) {
    const auto [variable, term] = parse_binding(binding);
    result.terms.emplace_back(variable, algebra::TermId{});
    outputs += outputs.empty() ? "" : ", ";
    outputs += term;
  }
  if (!outputs.empty()) {
    const Rule parsed = algebra::parse_terms(outputs, "instance", variables_, library_, bank_, symbols_);
    for (std::size_t i = 0; i < result.terms.size(); ++i) result.terms[i].second = parsed.source.at(i);
  }
  for (const std::string_view binding : split_outside(halves[1], ',')) {
    const auto [size, value] = parse_binding(binding);
    result.sizes.emplace(size, algebra::parse_poly(value, "instance", symbols_));
  }
  return result;
}

algebra::TypedRule read_statement(const std::string& text, algebra::Library& library, algebra::TermBank& bank,
                                  algebra::Symbols& symbols) {
  const Rule rule = algebra::parse_rule(text, "statement", library, bank, symbols);
  return algebra::require_types(rule, bank, symbols, "statement");
}

}  // namespace rulemill::prove
