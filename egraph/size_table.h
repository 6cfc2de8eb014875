// Intern table of sizes and shapes: equal polynomials have equal ids. Caches substitution and type inference across
// goals; goals use the same canonical sizes, so most lookups hit. The facts are inequalities of the current goal's
// sizes.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "algebra/library/library.h"
#include "algebra/terms/term.h"
#include "egraph/key_table.h"

namespace rulemill::egraph {

enum class SizeId : std::uint32_t {};
enum class ShapeId : std::uint32_t {};

/// The table; shared by all goals of a deriver.
class SizeTable {
 public:
  SizeTable(const algebra::Library& library, algebra::Symbols& symbols) : library_(&library), symbols_(&symbols) {}

  SizeId intern(const algebra::Poly& poly);
  const algebra::Poly& poly(SizeId id) const { return polys_[static_cast<std::uint32_t>(id)]; }
  ShapeId shape(std::span<const SizeId> dims);
  ShapeId shape(const algebra::Shape& dims);
  std::span<const SizeId> dims(ShapeId id) const;
  algebra::Shape polys(ShapeId id) const;
  algebra::Symbols& symbols() const { return *symbols_; }

  /// Replaces the facts: polynomials that are at least 0. Sizes are at least 1 without facts.
  void assume(std::vector<algebra::Poly> facts);
  std::span<const algebra::Poly> facts() const { return facts_; }
  bool is_nonnegative(const algebra::Poly& poly) const;
  /// True if the size is shown to be at least 1 without facts.
  bool is_always_positive(SizeId size);
  /// True if the facts show the relation.
  bool holds(algebra::Relation relation, SizeId left, SizeId right);

  /// Substitutes values for the atoms of the pattern: `values[i]` for the i-th of Symbols::atoms(pattern).
  SizeId substitute(SizeId pattern, std::span<const algebra::Atom> atoms, std::span<const SizeId> values);

  /// Returns the output shapes of the instance if it types under the facts. Valid until the next call.
  std::optional<std::span<const ShapeId>> infer(algebra::InstanceId instance, std::span<const ShapeId> arguments,
                                                std::span<const SizeId> sizes);

  /// Removes all types, and all polynomials but the first `polys`.
  void roll_back(std::size_t polys);
  std::size_t poly_count() const { return polys_.size(); }

 private:
  enum class CachedAnswer : std::uint8_t { NotComputed, No, Yes };

  std::uint32_t infer_uncached(algebra::InstanceId instance, std::span<const ShapeId> arguments,
                               std::span<const SizeId> sizes, std::span<const algebra::Poly> facts);

  const algebra::Library* library_;
  algebra::Symbols* symbols_;
  std::deque<algebra::Poly> polys_;  // a deque: references stay valid
  std::unordered_map<std::size_t, std::vector<SizeId>> by_hash_;
  std::vector<std::uint32_t> by_atom_;  // SizeId of the single atom, or none
  std::vector<CachedAnswer> always_positive_;
  KeyTable shapes_;
  KeyTable substituted_;
  KeyTable typed_;  // instance, argument shapes, sizes → first of its outputs in output_shapes_, or untyped
  KeyTable typed_with_facts_;  // for types that need the facts: the same key and the number of the fact set
  KeyTable fact_sets_;
  std::uint32_t fact_set_ = 0;
  std::vector<ShapeId> output_shapes_;
  std::vector<algebra::Poly> facts_;
  std::vector<std::uint32_t> key_;
};

}  // namespace rulemill::egraph
