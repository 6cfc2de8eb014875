#include "algebra/sizes/size_names.h"

#include <algorithm>

namespace rulemill::algebra {
namespace {

bool contains(const auto& list, const auto& element) {
  return std::find(list.begin(), list.end(), element) != list.end();
}

/// The name up to its first non-letter: fresh sizes end in a number.
std::string base_name(const std::string& name) {
  std::string base;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter) break;
    base += c;
  }
  return base.empty() ? "d" : base;
}

}  // namespace

void SizeNamer::add(const Poly& poly) {
  for (const Atom atom : symbols_.atoms(poly)) {
    if (!contains(order_, atom)) order_.push_back(atom);
  }
}

void SizeNamer::add(const Poly& poly, const std::string& slot) {
  add(poly);
  if (const std::optional<Atom> atom = poly.atom()) preferred_names_.try_emplace(*atom, slot);
}

Substitution SizeNamer::substitution() const {
  Substitution substitution;
  std::vector<std::string> used;
  for (const Atom atom : declared_) used.push_back(symbols_.name(atom));
  for (const Atom atom : order_) {
    if (contains(declared_, atom)) continue;
    const auto preferred = preferred_names_.find(atom);
    const std::string base = base_name(preferred == preferred_names_.end() ? symbols_.name(atom) : preferred->second);
    std::string name = base;
    for (int n = 2; contains(used, name); ++n) name = base + std::to_string(n);
    used.push_back(name);
    substitution[atom] = Poly(symbols_.size(name));
  }
  return substitution;
}

}  // namespace rulemill::algebra
