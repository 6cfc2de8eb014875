// Joins texts for messages.
#pragma once

#include <functional>
#include <string>

namespace rulemill::runtime {

/// Applies `text_of` to each item and separates the results by commas: "a, b, c".
template <class Items, class TextOf = std::identity>
std::string join_text(const Items& items, TextOf text_of = {}) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += ", ";
    text += std::invoke(text_of, item);
  }
  return text;
}

}  // namespace rulemill::runtime
