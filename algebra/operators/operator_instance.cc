#include "algebra/operators/operator_instance.h"

namespace rulemill::algebra {

std::string to_string(const ParameterValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* enum_value = std::get_if<std::string>(&value)) return *enum_value;
  if (const auto* symbolic = std::get_if<Symbolic>(&value)) return symbolic->min_value == 0 ? "? - 1" : "?";
  std::string text = "[";
  for (std::int64_t element : std::get<std::vector<std::int64_t>>(value))
    text += (text.size() > 1 ? "," : "") + std::to_string(element);
  return text + "]";
}

}  // namespace rulemill::algebra
