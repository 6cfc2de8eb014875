// The text of a polynomial: terms by decreasing degree, the constant last, a positive term in front if there is one.
#include <algorithm>

#include "algebra/sizes/poly.h"
#include "runtime/text/join_text.h"

namespace rulemill::algebra {

std::string Symbols::to_string(const Poly::Term& term) const {
  std::string text;
  const std::int64_t magnitude = term.coefficient < 0 ? -term.coefficient : term.coefficient;
  if (magnitude != 1 || term.monomial.empty()) text = std::to_string(magnitude);
  for (const Atom atom : term.monomial) {
    if (!text.empty()) text += '*';
    const AtomData& e = data_of(atom);
    switch (e.kind) {
      case Kind::Size:
      case Kind::Index:
        text += e.name;
        break;
      case Kind::FloorDiv:
        text += "div(" + to_string(e.left) + ", " + to_string(e.right) + ")";
        break;
      case Kind::Min:
        text += "min(" + to_string(e.left) + ", " + to_string(e.right) + ")";
        break;
      case Kind::Max:
        text += "max(" + to_string(e.left) + ", " + to_string(e.right) + ")";
        break;
    }
  }
  return text;
}

std::string Symbols::to_string(const Poly& poly) const {
  if (poly.is_zero()) return "0";
  std::vector<Poly::Term> terms(poly.terms().begin(), poly.terms().end());
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Poly::Term& a, const Poly::Term& b) { return a.monomial.size() > b.monomial.size(); });
  const auto positive =
      std::find_if(terms.begin(), terms.end(), [](const Poly::Term& term) { return term.coefficient > 0; });
  if (positive != terms.end()) std::rotate(terms.begin(), positive, positive + 1);
  std::string text;
  for (const Poly::Term& term : terms) {
    if (term.coefficient < 0)
      text += text.empty() ? "-" : " - ";
    else if (!text.empty())
      text += " + ";
    text += to_string(term);
  }
  return text;
}

std::string Symbols::to_string(const Shape& shape, std::span<const Atom> packs) const {
  const auto text = [&](const Poly& dim) {
    const auto atom = dim.atom();
    const bool is_pack = atom && std::ranges::find(packs, *atom) != packs.end();
    return to_string(dim) + (is_pack ? "..." : "");
  };
  return "[" + runtime::join_text(shape, text) + "]";
}

}  // namespace rulemill::algebra
