// The text of a shape in a rule.
#pragma once

#include <string>
#include <vector>

#include "algebra/sizes/poly.h"

namespace rulemill::algebra {

/// [d..., m, 2*k]: a pack is followed by dots.
std::string shape_text(const Shape& shape, const std::vector<Atom>& packs, const Symbols& symbols);

}  // namespace rulemill::algebra
