// The rule gallery: an HTML page without external resources, with the funnel and each rule drawn as two graphs.
#pragma once

#include <string>

#include "cli/rules/rule_database.h"

namespace rulemill::cli {

/// Returns the page: `page_template` is pages/rule_gallery.html, whose mark "RULES" is replaced by the rules as JSON.
/// Rules are drawn when they scroll into view, so that thousands of rules do not slow the page down.
std::string gallery_page(Database& database, const std::string& name, const std::string& page_template);

}  // namespace rulemill::cli
