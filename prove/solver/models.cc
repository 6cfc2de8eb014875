#include "prove/solver/models.h"

#include <algorithm>

#include "algebra/sizes/checked.h"
#include "runtime/text/error.h"

namespace rulemill::prove {
namespace {

constexpr std::size_t kept_models = 24;

}  // namespace

std::int64_t evaluate(const Poly& poly, const Atoms& atoms, const std::function<std::int64_t(Atom)>& value) {
  const auto value_of = [&](Atom atom) {
    if (!atoms.is_compound(atom)) return value(atom);
    const std::int64_t left = evaluate(atoms.left(atom), atoms, value),
                       right = evaluate(atoms.right(atom), atoms, value);
    switch (atoms.kind(atom)) {
      case Atoms::Kind::Min:
        return std::min(left, right);
      case Atoms::Kind::Max:
        return std::max(left, right);
      default:
        if (right == 0) throw runtime::Error("model", "a division by zero");
        return algebra::floor_quotient(left, right);
    }
  };
  std::int64_t sum = 0;
  for (const Poly::Term& term : poly.terms()) {
    std::int64_t product = term.coefficient;
    for (const Atom atom : term.monomial) product = algebra::checked_multiply(product, value_of(atom));
    sum = algebra::checked_add(sum, product);
  }
  return sum;
}

std::int64_t Models::evaluate(const Values& values, const Poly& poly) const {
  return prove::evaluate(poly, atoms_, [&](Atom atom) {
    const auto found = values.find(atom);
    if (found != values.end()) return found->second;
    return atoms_.kind(atom) == Atoms::Kind::Size ? std::int64_t{1} : std::int64_t{0};
  });
}

std::optional<std::int64_t> Models::value(const Poly& poly) const {
  if (models_.empty()) return std::nullopt;
  try {
    return evaluate(models_.front(), poly);
  } catch (const runtime::Error&) {  // a division by zero or an overflow
    return std::nullopt;
  }
}

bool Models::satisfies(const Values& values, const Guard& guard) const {
  const std::int64_t value = evaluate(values, guard.poly);
  return guard.equality ? value == 0 : value >= 0;
}

bool Models::satisfies(const Values& values, const Query& query) const {
  try {
    return std::ranges::all_of(query.asserted, [&](const Guard& guard) { return satisfies(values, guard); });
  } catch (const runtime::Error&) {  // a division by zero or an overflow
    return false;
  }
}

bool Models::contains_model_of(const Query& query) {
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (!satisfies(models_[i], query)) continue;
    std::rotate(models_.begin(), models_.begin() + static_cast<std::ptrdiff_t>(i),
                models_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return true;
  }
  return false;
}

void Models::add(const Values& values, const Query& query) {
  const bool sizes = std::all_of(values.begin(), values.end(), [&](const auto& entry) {
    return atoms_.kind(entry.first) != Atoms::Kind::Size || entry.second >= 1;
  });
  if (!sizes || !satisfies(values, query)) return;
  models_.push_front(values);
  if (models_.size() > kept_models) models_.pop_back();
}

}  // namespace rulemill::prove
