#include "runtime/printable.h"

namespace rulemill::runtime {
namespace {

/// The end of a part that is cut before `end`, moved so that no character of several bytes is cut.
std::size_t whole_characters(std::string_view text, std::size_t end) {
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return end;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  std::string shown(text);
  if (text.size() > most) {
    const std::size_t head = whole_characters(text, most * 2 / 3);
    const std::size_t tail = whole_characters(text, text.size() - most / 3);
    shown = std::string(text.substr(0, head)) + " ... " + std::string(text.substr(tail));
  }
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto byte = static_cast<unsigned char>(shown[i]);
    // The second block of control characters is two bytes long in UTF-8.
    const bool second_block = byte == 0xc2 && i + 1 < shown.size() && static_cast<unsigned char>(shown[i + 1]) < 0xa0;
    if (byte < 0x20 || byte == 0x7f) shown[i] = '?';
    if (second_block) shown[i] = shown[i + 1] = '?';
  }
  return shown;
}

}  // namespace rulemill::runtime
