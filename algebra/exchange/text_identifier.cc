#include "algebra/exchange/text_identifier.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace rulemill::algebra {
namespace {

constexpr std::array<std::string_view, 8> reserved_words = {"rule", "property", "let", "when",
                                                            "core", "derived",  "of",  "positive"};

}  // namespace

std::string text_identifier(std::string_view name) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  const bool is_free = std::ranges::find(reserved_words, text) == reserved_words.end();
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 && is_free ? text : "x" + text;
}

}  // namespace rulemill::algebra
