// Sentences of the reports, for the terminal and the HTML page.
#pragma once

#include <string>
#include <vector>

#include "optimize/report/summary.h"

namespace rulemill::optimize {

/// Returns the cells for nodes, cost and weights.
std::vector<std::string> cells(const CostRow& row);
/// Returns a rule's id and direction.
std::string fired_name(const Summary::FiredRule& fired);
/// Returns a rule's id, direction and tier, and whether it is proved.
std::string fired_title(const Summary::FiredRule& fired);
/// Returns the nodes before and after the clean-up.
std::string cleaning_text(const Summary& summary);
/// Returns the outcome in a sentence.
std::string outcome_text(const Summary& summary);
/// Returns the runtime and the sizes of the inputs.
std::string timing_place(const BenchmarkResult& benchmark);
/// Returns the times of the model and of each candidate, a line each; empty without candidates.
std::string benchmark_text(const Summary& summary);
std::string sizes_text(const Summary& summary);
/// Returns the verdict of a verifier, and where nothing was compared, if a rule that widens fired.
std::string verification_text(const VerificationResult& result, const Summary& summary);
/// Of the model and its cleaned copy.
std::string bit_comparison_text(const VerificationResult& result);
std::string search_text(const Summary& summary);

}  // namespace rulemill::optimize
