// External text made safe for one line on a terminal or in a log.
#pragma once

#include <string>
#include <string_view>

namespace rulemill::runtime {

/// Replaces control characters by '?'. Cuts out the middle of texts of more than `max_length` bytes.
std::string make_printable(std::string_view text, std::size_t max_length = 1000);

/// Returns the number of columns of UTF-8 text in a terminal or fixed-pitch font.
std::size_t display_width(std::string_view text);

}  // namespace rulemill::runtime
