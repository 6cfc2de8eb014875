// The body of an egglog rule: patterns over the sizes of tensors, with the equations that determine the other sizes.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algebra/sizes/poly.h"

namespace rulemill::algebra {

/// egglog has integer variables, but no equations of polynomials. A compound size in a pattern becomes a variable of
/// its own, and `solve` adds facts that determine the sizes in it, or compare it.
class EgglogQuery {
 public:
  explicit EgglogQuery(Symbols& symbols) : symbols_(symbols) {}

  void add(std::string fact) { facts_.push_back(std::move(fact)); }
  /// Returns the pattern of an integer of this value.
  std::string pattern(const Poly& poly);
  /// Adds the equations of the patterns. Throws NotExpressible if they do not determine the sizes.
  void solve();
  /// Returns the value as an expression over determined sizes. Adds a fact for each division: its operands are not
  /// negative, so that egglog rounds down. Throws NotExpressible for an undetermined size.
  std::string expression(const Poly& poly);

  const std::vector<std::string>& facts() const { return facts_; }

 private:
  bool solve(const std::string& variable, const Poly& poly);
  std::string atom_expression(Atom atom);
  std::string fresh() { return "v" + std::to_string(++fresh_) + "_"; }

  Symbols& symbols_;
  std::vector<std::string> facts_;
  std::set<Atom> known_;
  std::vector<std::pair<std::string, Poly>> equations_;
  std::size_t fresh_ = 0;
};

}  // namespace rulemill::algebra
