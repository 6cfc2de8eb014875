// A table for the terminal: columns as wide as their longest cell, numbers right-aligned.
#pragma once

#include <string>
#include <vector>

namespace rulemill::cli {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) : rows_{std::move(header)} {}

  /// Missing cells are empty.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }
  /// With colours, the header is bold and cells that are a verdict are green, yellow or red.
  std::string text(bool coloured = false) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace rulemill::cli
