#include "cli/text_table.h"

#include <algorithm>
#include <cctype>

namespace rulemill::cli {
namespace {

/// True for cells that begin with a digit or a sign. Empty cells do not affect the alignment.
bool is_number(const std::string& cell) {
  if (cell.empty() || cell == "-") return true;
  const std::size_t first = cell[0] == '-' || cell[0] == '+' ? 1 : 0;
  return first < cell.size() && std::isdigit(static_cast<unsigned char>(cell[first])) != 0;
}

/// The number of characters; continuation bytes of UTF-8 do not count.
std::size_t display_width(const std::string& cell) {
  return static_cast<std::size_t>(
      std::count_if(cell.begin(), cell.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string TextTable::text() const {
  const std::size_t columns = rows_[0].size();
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> right(columns, true);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < std::min(columns, rows_[r].size()); ++c) {
      widths[c] = std::max(widths[c], display_width(rows_[r][c]));
      if (r > 0 && !is_number(rows_[r][c])) right[c] = false;
    }
  }
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::string cell = c < rows_[r].size() ? rows_[r][c] : std::string();
      const std::string padding(widths[c] - display_width(cell), ' ');
      line += (c == 0 ? "" : "  ") + (right[c] ? padding + cell : cell + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (r > 0) continue;
    for (std::size_t c = 0; c < columns; ++c) text += (c == 0 ? "" : "  ") + std::string(widths[c], '-');
    text += "\n";
  }
  return text;
}

}  // namespace rulemill::cli
