// The report of an optimization: costs by operator before and after, fired rules and verification.
#pragma once

#include <string>

#include "optimize/report/summary.h"
#include "runtime/text/json.h"

namespace rulemill::optimize {

/// Returns the report for a terminal.
std::string to_text(const Summary& summary);
runtime::Json to_json(const Summary& summary);
/// Returns the data of the HTML page that pages/report.js draws.
runtime::Json page_data(const Summary& summary);

}  // namespace rulemill::optimize
