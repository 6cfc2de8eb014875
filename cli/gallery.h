// The rule gallery: one HTML page that needs nothing else, with the funnel and every rule drawn as two graphs.
#pragma once

#include <string>

#include "cli/rule_database.h"

namespace rulemill::cli {

/// `frame` is data/gallery/page.html, whose mark RULES is replaced by the rules as JSON. The page draws a rule when it
/// comes into sight, so thousands of rules are no burden.
std::string gallery_page(Database& database, const std::string& name, const std::string& frame);

}  // namespace rulemill::cli
