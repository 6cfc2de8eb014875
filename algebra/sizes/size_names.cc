#include "algebra/sizes/size_names.h"

#include <algorithm>

namespace rulemill::algebra {

namespace {

bool contains(const auto& list, const auto& element) {
  return std::find(list.begin(), list.end(), element) != list.end();
}

/// The name up to its first character that is no letter: fresh sizes end in a number.
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

void SizeNames::meet(const Poly& poly) {
  for (const Atom atom : symbols_.atoms(poly)) {
    if (!contains(order_, atom)) order_.push_back(atom);
  }
}

void SizeNames::meet(const Poly& poly, const std::string& slot) {
  meet(poly);
  if (const std::optional<Atom> atom = poly.atom()) wanted_.try_emplace(*atom, slot);
}

Substitution SizeNames::names() const {
  Substitution names;
  std::vector<std::string> taken;
  for (const Atom atom : declared_) taken.push_back(symbols_.name(atom));
  for (const Atom atom : order_) {
    if (contains(declared_, atom)) continue;
    const auto wanted = wanted_.find(atom);
    const std::string base = base_name(wanted == wanted_.end() ? symbols_.name(atom) : wanted->second);
    std::string name = base;
    for (int n = 2; contains(taken, name); ++n) name = base + std::to_string(n);
    taken.push_back(name);
    names[atom] = Poly(symbols_.size(name));
  }
  return names;
}

}  // namespace rulemill::algebra
