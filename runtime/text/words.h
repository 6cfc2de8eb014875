// Tables of names, written as one text.
#pragma once

#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace rulemill::runtime {

/// Returns the words that spaces separate, in order.
inline std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

inline std::set<std::string> word_set(const std::string& text) {
  const std::vector<std::string> list = words(text);
  return {list.begin(), list.end()};
}

}  // namespace rulemill::runtime
