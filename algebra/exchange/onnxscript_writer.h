// Exports rules as a Python module of rewrite rules for onnxscript's rewriter. Nodes are read and written by the
// operators' ONNX mappings, as the optimizer does.
#pragma once

#include <span>
#include <vector>

#include "algebra/exchange/exported_rules.h"

namespace rulemill::algebra {

/// Exports typed rules, source to target. The file begins with a header (export_header) that also lists the rules
/// `skipped` before, then `prelude`, which defines what the rules use. A rule for any rank is exported at each number
/// of dimensions for which its variables have at most max_exported_rank.
ExportedRules write_onnxscript_rules(std::span<const RuleToExport> rules, std::vector<SkippedRule> skipped,
                                     const ExportFrame& frame, Library& library, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
