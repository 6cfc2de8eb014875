// The sentences of a report, for a terminal and for a page.
#pragma once

#include <string>
#include <vector>

#include "optimize/report.h"

namespace rulemill::optimize {

std::string time_text(double seconds);
std::string bytes_text(double bytes);
/// Nodes, cost and weights; what is nothing reads so.
std::vector<std::string> cells(const CostRow& row);
/// A rule's id, tier and direction.
std::string fired_title(const Summary::Fired& fired);
/// What came of it, in a sentence.
std::string verdict_text(const Summary& summary);
/// How each candidate fared against the model, a line each; nothing if none was found.
std::string timing_text(const Summary& summary);
std::string sizes_text(const Summary& summary);
std::string judgement_text(const Judgement& judgement, const Acceptance& acceptance);
std::string search_text(const Summary& summary);

}  // namespace rulemill::optimize
