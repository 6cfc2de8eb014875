#include "runtime/text/printable.h"

#include <algorithm>

namespace rulemill::runtime {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// Moves `end` back to the start of a UTF-8 character.
std::size_t character_start(std::string_view text, std::size_t end) {
  while (end > 0 && end < text.size() && is_continuation(text[end])) --end;
  return end;
}

}  // namespace

std::string make_printable(std::string_view text, std::size_t max_length) {
  std::string shown(text);
  if (text.size() > max_length) {
    const std::size_t head = character_start(text, max_length * 2 / 3);
    const std::size_t tail = character_start(text, text.size() - max_length / 3);
    shown = std::string(text.substr(0, head)) + " ... " + std::string(text.substr(tail));
  }
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto byte = static_cast<unsigned char>(shown[i]);
    // U+0080 to U+009F, the C1 control characters: two bytes in UTF-8.
    const bool is_c1 = byte == 0xc2 && i + 1 < shown.size() && static_cast<unsigned char>(shown[i + 1]) < 0xa0;
    if (byte < 0x20 || byte == 0x7f) shown[i] = '?';
    if (is_c1) shown[i] = shown[i + 1] = '?';
  }
  return shown;
}

std::size_t display_width(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_continuation));
}

}  // namespace rulemill::runtime
