// The drawing of one side of a rule, and texts of its parts. Equal rules give equal drawings.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "algebra/terms/term.h"
#include "runtime/text/json.h"

namespace rulemill::algebra {

using Types = std::unordered_map<TermId, Shape>;

/// Draws one side as data of a page (`drawing.h`). Terms that are not in `types` are drawn without type.
runtime::Json draw_side(const Rule& rule, const std::vector<TermId>& roots, const TermBank& bank,
                        const Symbols& symbols, const Types& types);

/// The shape of a node's output: "[m, n]", or "" if it is not in `types`.
std::string output_type(NodeId node, std::uint32_t output, const TermBank& bank, const Symbols& symbols,
                        const Types& types);

/// The parameters that are not at their default, and the sizes: "axis=1, at=n".
std::string parameters_text(NodeId node, const TermBank& bank, const Symbols& symbols);

}  // namespace rulemill::algebra
