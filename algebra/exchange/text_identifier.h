// Names of other systems as identifiers of the text form of rules.
#pragma once

#include <string>
#include <string_view>

namespace rulemill::algebra {

/// Returns an identifier that begins with a letter and is no word of the text form: other characters become _.
std::string text_identifier(std::string_view name);

}  // namespace rulemill::algebra
