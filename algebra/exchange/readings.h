// Rules as which statements of other systems are read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algebra/terms/rule_text.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {

/// Returns the message of an error without its place.
std::string without_place(const runtime::Error& error);

/// Appends the rules that `read` returns, called NAME, or NAME_1, NAME_2, … if there are several. If it throws
/// InputError, appends one without a rule, with the error as its problem.
void append_readings(const std::string& name, const std::string& place, const std::function<std::vector<Rule>()>& read,
                     std::vector<ImportedRule>& rules);

}  // namespace rulemill::algebra
