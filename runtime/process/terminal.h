// What a stream can show.
#pragma once

#include <cstdio>

namespace rulemill::runtime {

bool is_terminal(std::FILE* stream);

/// Returns whether text on the stream may have colours: on a terminal, unless the variable NO_COLOR is set and not
/// empty, or TERM is "dumb".
bool shows_colours(std::FILE* stream);

}  // namespace rulemill::runtime
