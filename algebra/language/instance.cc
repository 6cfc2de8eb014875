#include "algebra/language/instance.h"

namespace rulemill::algebra {

std::string to_string(const ParameterValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  if (const auto* open = std::get_if<Open>(&value)) return open->least == 0 ? "? - 1" : "?";
  std::string text = "[";
  for (std::int64_t element : std::get<std::vector<std::int64_t>>(value)) {
    text += (text.size() > 1 ? "," : "") + std::to_string(element);
  }
  return text + "]";
}

}  // namespace rulemill::algebra
