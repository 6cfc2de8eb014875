#include "algebra/exchange/pdl/pattern_text.h"

#include <fmt/format.h>

namespace rulemill::algebra {
namespace {

/// Whether the text is the same for all sizes and number types.
bool is_constant(const std::string& text) { return text.find_first_of("{$") == std::string::npos; }

std::string joined(const std::string& list, const std::string& item) {
  return list.empty() ? item : list + ", " + item;
}

}  // namespace

std::string mlir_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? "\\22" : c == '\\' ? "\\\\" : std::string(1, c);
  return result + "\"";
}

void PatternText::add_variable(const std::string& value, const std::string& type_text) {
  add_line(fmt::format("{} = pdl.operand : {}", value, type(type_text)));
  variables_ = joined(variables_, mlir_string(type_text));
  arguments_.emplace_back(value, "!pdl.value");
}

std::string PatternText::type(const std::string& text) {
  const auto known = types_.find(text);
  if (known != types_.end()) return known->second;
  const std::string name = fmt::format("%t{}", types_.size() + 1);
  if (is_rewrite_) {
    add_line(fmt::format("{}_text = pdl.attribute = {}", name, mlir_string(text)));
    add_line(fmt::format("{} = pdl.apply_native_rewrite \"rulemill.type\"{} : !pdl.type", name,
                         native_arguments(name + "_text")));
  } else {
    add_line(name + " = pdl.type");
  }
  return types_[text] = name;
}

/// Returns the value of an attribute. A match compares constants itself; the native constraint compares others.
std::string PatternText::attribute(const std::string& text, bool is_checked) {
  const std::string name = fmt::format("%a{}", ++attribute_count_);
  if (is_constant(text)) {
    add_line(fmt::format("{} = pdl.attribute = {}", name, text));
  } else if (is_checked) {
    add_line(name + " = pdl.attribute");
  } else {
    add_line(fmt::format("{}_text = pdl.attribute = {}", name, mlir_string(text)));
    add_line(fmt::format("{} = pdl.apply_native_rewrite \"rulemill.attribute\"{} : !pdl.attribute", name,
                         native_arguments(name + "_text")));
  }
  return name;
}

std::string PatternText::native_arguments(const std::string& first) const {
  std::string values = first.empty() ? "%spec" : first + ", %spec";
  std::string types = first.empty() ? "!pdl.attribute" : "!pdl.attribute, !pdl.attribute";
  for (const auto& [value, type] : arguments_) {
    values += ", " + value;
    types += ", " + type;
  }
  return "(" + values + " : " + types + ")";
}

std::string PatternText::add(const PdlOperation& operation) {
  const std::string name = fmt::format("%n{}", ++operation_count_);
  std::string attributes, fixed, checked, optional;
  for (const auto& [key, text] : operation.attributes) {
    attributes = joined(attributes, fmt::format("\"{}\" = {}", key, attribute(text, !is_rewrite_)));
    if (is_constant(text)) {
      fixed = joined(fixed, mlir_string(key));
    } else {
      checked = joined(checked, key + " = " + mlir_string(text));
    }
  }
  for (const auto& [key, texts] : operation.optional) {
    optional = joined(optional, fmt::format("{} = [{}, {}]", key, mlir_string(texts.first), mlir_string(texts.second)));
    if (is_rewrite_ && texts.first != texts.second)
      attributes = joined(attributes, fmt::format("\"{}\" = {}", key, attribute(texts.first, false)));
  }
  std::string operands;
  for (const std::string& operand : operation.operands) operands = joined(operands, operand);
  if (!operands.empty()) {
    operands += " : !pdl.value";
    for (std::size_t i = 1; i < operation.operands.size(); ++i) operands += ", !pdl.value";
    operands = "(" + operands + ")";
  }
  const std::string result_type = type(operation.result);
  (is_rewrite_ ? created_ : matched_).insert(operation.name + " " + operation.result);
  add_line(fmt::format("{} = pdl.operation \"stablehlo.{}\"{}{} -> ({} : !pdl.type)", name, operation.name, operands,
                       attributes.empty() ? "" : " {" + attributes + "}", result_type));
  add_line(fmt::format("{}_result = pdl.result 0 of {}", name, name));
  if (!is_rewrite_) {
    root_ = name;
    arguments_.emplace_back(name, "!pdl.operation");
    operations_ =
        joined(operations_, fmt::format("{{result = {}, fixed = [{}], attributes = {{{}}}, optional = {{{}}}}}",
                                        mlir_string(operation.result), fixed, checked, optional));
  }
  return name + "_result";
}

void PatternText::begin_rewrite() {
  add_line("pdl.apply_native_constraint \"rulemill.fits\"" + native_arguments(""));
  add_line("pdl.rewrite " + root_ + " {");
  is_rewrite_ = true;
}

std::string PatternText::body(const std::string& replacement) const {
  return fmt::format("{}      pdl.replace {} with ({} : !pdl.value)\n    }}\n", lines_, root_, replacement);
}

std::string PatternText::specification(const std::vector<std::string>& conditions) const {
  std::string where;
  for (const std::string& condition : conditions) where = joined(where, mlir_string(condition));
  return fmt::format("{{variables = [{}], operations = [{}], where = [{}]}}", variables_, operations_, where);
}

}  // namespace rulemill::algebra
