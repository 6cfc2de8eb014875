// Candidates for lemmas on products that an obligation may need.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "check/kernel/obligation.h"
#include "prove/solver/linear.h"

namespace rulemill::prove {

/// Returns the lemmas of products that are nonnegative as their factors are: a ≥ 0 and b ≥ 0 imply a·b ≥ 0.
LiteralLemmas to_lemmas(const std::vector<check::ProductLemma>& products, const check::Atoms& atoms);

/// The monomials of an obligation, the facts about them, and candidates for lemmas.
class LemmaContext {
 public:
  explicit LemmaContext(Atoms& atoms) : atoms_(atoms) {}

  void add_poly(const Poly& poly);
  void add_guard(const check::Guard& guard);

  /// Returns the definitions of compound atoms, and the positivity of products of sizes.
  std::vector<Lemma> definitions();

  bool has_products() const { return has_products_; }

  /// Returns products of two nonnegative polynomials that may matter; call `definitions` before.
  std::vector<check::ProductLemma> candidates();

  /// The sizes and products of sizes in lemmas, which the script of an obligation with these states to be positive.
  std::set<Poly> products_of_sizes(const std::vector<check::ProductLemma>& lemmas) const;

 private:
  static constexpr std::size_t max_lemmas = 400, max_size_bounds = 24;

  bool is_size(Atom atom) const { return atoms_.kind(atom) == Atoms::Kind::Size; }
  bool only_sizes(const algebra::Monomial& monomial) const;
  void define(Atom atom, std::vector<Lemma>& lemmas);
  void propose(const Poly& a, const Poly& b);
  std::optional<Poly> exact_quotient(const Poly& multiple, const Poly& d);
  void bound_quotients();
  void split_common_sizes();
  void multiply_bounds();
  void multiply_size_bounds();

  Atoms& atoms_;
  std::set<algebra::Monomial> monomials_;
  std::vector<algebra::Monomial> pending_;
  std::set<Atom> compounds_;
  std::vector<Poly> bounds_, derived_;
  std::vector<check::ProductLemma> times_;
  std::set<check::ProductLemma> seen_;
  bool has_products_ = false;
};

}  // namespace rulemill::prove
