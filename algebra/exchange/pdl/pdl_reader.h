// Rules from MLIR patterns in the PDL dialect on StableHLO, by the table that exported patterns are written with.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/exchange/pdl/stablehlo_table.h"
#include "algebra/terms/rule_text.h"

namespace rulemill::algebra {

/// Whether a file is read in this form: its extension is .pdl or .mlir.
bool is_pdl_file(const std::filesystem::path& file);

/// Reads the patterns of a module. Types are those that the text states, or that rulemill.fits does: each of its
/// alternatives is a rule. A pattern without types is read at each assignment of ranks from 0 to 4 that fits. Several
/// rules of a pattern are named NAME_1, NAME_2, … What is no rule of operators becomes the problem of its pattern.
/// Throws InputError for a text that is no module of patterns.
std::vector<ImportedRule> parse_pdl_rules(std::string_view text, const std::string& origin, const StablehloTable& table,
                                          Library& library, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
