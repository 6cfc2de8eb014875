#include "algebra/sizes/shape_text.h"

#include <algorithm>

namespace rulemill::algebra {

std::string shape_text(const Shape& shape, const std::vector<Atom>& packs, const Symbols& symbols) {
  std::string text = "[";
  for (const Poly& dim : shape) {
    const auto atom = dim.atom();
    const bool is_pack = atom && std::ranges::find(packs, *atom) != packs.end();
    text += (text.size() == 1 ? "" : ", ") + symbols.to_string(dim) + (is_pack ? "..." : "");
  }
  return text + "]";
}

}  // namespace rulemill::algebra
