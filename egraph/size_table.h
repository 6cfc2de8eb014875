// Sizes and shapes as numbers: equal polynomials, equal id. Remembers what substituting and typing gave, across goals:
// goals name their sizes alike, so most answers are already there. What is known of the sizes of the present goal are
// its facts.
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

  /// Polynomials known to be at least 0 from now on, in place of those before. Sizes are at least 1 anyway.
  void assume(std::vector<algebra::Poly> facts);
  std::span<const algebra::Poly> facts() const { return facts_; }
  bool nonnegative(const algebra::Poly& poly) const;
  /// Whether the size is at least 1 whatever the facts.
  bool surely_positive(SizeId size);
  /// Whether the relation is shown under the facts.
  bool holds(algebra::Relation relation, SizeId left, SizeId right);

  /// The pattern with values for its atoms: `values[i]` for the i-th of Symbols::atoms(pattern).
  SizeId substitute(SizeId pattern, std::span<const algebra::Atom> atoms, std::span<const SizeId> values);

  /// Output shapes of the instance, if its arguments type under the facts. Valid until the next call.
  std::optional<std::span<const ShapeId>> infer(algebra::InstanceId instance, std::span<const ShapeId> arguments,
                                                std::span<const SizeId> sizes);

  /// Forgets every type and every polynomial but the first `polys`.
  void roll_back(std::size_t polys);
  std::size_t poly_count() const { return polys_.size(); }

 private:
  enum class Truth : std::uint8_t { Unasked, No, Yes };

  std::uint32_t infer_anew(algebra::InstanceId instance, std::span<const ShapeId> arguments,
                           std::span<const SizeId> sizes, std::span<const algebra::Poly> facts);

  const algebra::Library* library_;
  algebra::Symbols* symbols_;
  std::deque<algebra::Poly> polys_;  // references stay good
  std::unordered_map<std::size_t, std::vector<SizeId>> by_hash_;
  std::vector<std::uint32_t> by_atom_;  // SizeId of an atom alone, or none
  std::vector<Truth> surely_positive_;
  KeyTable shapes_;
  KeyTable substituted_;
  KeyTable typed_;  // instance, argument shapes, sizes → first of its outputs in output_shapes_, or untyped
  KeyTable typed_with_facts_;  // the same for what only facts show, the number of the fact set last
  KeyTable fact_sets_;
  std::uint32_t fact_set_ = 0;
  std::vector<ShapeId> output_shapes_;
  std::vector<algebra::Poly> facts_;
  std::vector<std::uint32_t> key_;
};

}  // namespace rulemill::egraph
