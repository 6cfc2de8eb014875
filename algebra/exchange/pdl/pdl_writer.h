// Exports rules as an MLIR module of PDL patterns on StableHLO.
#pragma once

#include <span>
#include <vector>

#include "algebra/exchange/exported_rules.h"
#include "algebra/exchange/pdl/stablehlo_table.h"

namespace rulemill::algebra {

/// Exports typed rules, source to target, each at the ranks up to max_exported_rank and at small parameters
/// (fixed_forms), with the operands of commutative operations in either order. Forms that differ in types only are one
/// pattern. Unless `keep_balanced`, leaves out forms that have the same operations on both sides. The header lists the
/// rules `skipped` before, too.
ExportedRules write_pdl_rules(std::span<const RuleToExport> rules, std::vector<SkippedRule> skipped,
                              const StablehloTable& table, bool keep_balanced, const ExportFrame& frame,
                              Library& library, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
