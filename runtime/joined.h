// Lists in sentences.
#pragma once

#include <functional>
#include <string>

namespace rulemill::runtime {

/// What `text_of` makes of each, with commas between: "a, b, c".
template <class Items, class TextOf = std::identity>
std::string joined(const Items& items, TextOf text_of = {}) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += ", ";
    text += std::invoke(text_of, item);
  }
  return text;
}

}  // namespace rulemill::runtime
