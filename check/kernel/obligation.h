// Obligations: formulas over sizes and indices that each use of an inference rule leaves, and their text for a solver.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check/kernel/normal_form.h"

namespace rulemill::check {

/// The lemma a ≥ 0 ∧ b ≥ 0 ⇒ a·b ≥ 0, for the polynomials a and b. It is true of all integers.
using ProductLemma = std::pair<Poly, Poly>;
/// Σ coefficient · [guards]
using IndicatorSum = std::vector<std::pair<Rational, Guards>>;

/// A formula that a solver must confirm: given ⊢ goal; or, without a goal, given ⊢ false; or `script`, about real
/// numbers.
struct Obligation {
  std::string what;
  Guards given;
  std::optional<Guard> goal;
  std::vector<ProductLemma> lemmas;
  std::string script = {};
};

/// True if the obligation holds without a solver: a given guard implies the goal up to a polynomial in sizes that is
/// never negative, or two given guards contradict each other in this way.
bool is_trivial(const Obligation& obligation, const Atoms& atoms);
using OnObligation = std::function<void(Obligation)>;
/// Requires Σ coefficient · [guards] = 0 where the region's guards hold and its goal, if it has one, does not: decides
/// the guards one by one, and where the sum is not 0 then, there must be no point. Throws CheckError at too many cases.
void require_zero(const Obligation& region, const IndicatorSum& sum, const Atoms& atoms, const OnObligation& require);

/// Returns a script to which a solver must answer "unsat". Products of atoms are integers v0, v1, …. The script states
/// d ≥ 1 ⇒ 0 ≤ n − d·q ≤ d − 1 for each quotient q = floor(n / d), that products of sizes are at least 1, and the
/// obligation's lemmas. The only text from the user are names in comments.
std::string smtlib(const Obligation& obligation, const Atoms& atoms);

}  // namespace rulemill::check
