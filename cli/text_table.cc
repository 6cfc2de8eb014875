#include "cli/text_table.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "runtime/text/printable.h"

namespace rulemill::cli {
namespace {

/// True for cells that begin with a digit or a sign. Empty cells do not affect the alignment.
bool is_number(const std::string& cell) {
  if (cell.empty() || cell == "-") return true;
  const std::size_t first = cell[0] == '-' || cell[0] == '+' ? 1 : 0;
  return first < cell.size() && std::isdigit(static_cast<unsigned char>(cell[first])) != 0;
}

/// The cell in the colour of its verdict.
std::string in_colour(const std::string& cell) {
  static const std::map<std::string, const char*> colours = {
      {"proved", "32"},   {"derived", "32"}, {"refuted", "31"},     {"ill-typed", "31"},    {"unreadable", "31"},
      {"narrowed", "33"}, {"unknown", "33"}, {"not derived", "33"}, {"limit reached", "33"}};
  const auto colour = colours.find(cell);
  return colour == colours.end() ? cell : std::string("\033[") + colour->second + "m" + cell + "\033[0m";
}

}  // namespace

std::string TextTable::text(bool coloured) const {
  const std::size_t columns = rows_[0].size();
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> right(columns, true);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < std::min(columns, rows_[r].size()); ++c) {
      widths[c] = std::max(widths[c], runtime::display_width(rows_[r][c]));
      if (r > 0 && !is_number(rows_[r][c])) right[c] = false;
    }
  }
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::string cell = c < rows_[r].size() ? rows_[r][c] : std::string();
      const std::string padding(widths[c] - runtime::display_width(cell), ' ');
      const std::string shown = coloured && r > 0 ? in_colour(cell) : cell;
      line += (c == 0 ? "" : "  ") + (right[c] ? padding + shown : shown + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += coloured && r == 0 ? "\033[1m" + line + "\033[0m\n" : line + "\n";
    if (r > 0) continue;
    for (std::size_t c = 0; c < columns; ++c) text += (c == 0 ? "" : "  ") + std::string(widths[c], '-');
    text += "\n";
  }
  return text;
}

}  // namespace rulemill::cli
