// Keys of obligations up to renaming: two obligations with equal keys differ only in the names of bound indices and in
// the order of what is given. So if one is not shown, neither is the other.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/kernel/kernel.h"

namespace rulemill::prove {

class RenamedKeys {
 public:
  using Key = std::vector<std::uint32_t>;
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  explicit RenamedKeys(const check::Atoms& atoms) : atoms_(atoms) {}

  /// The key of an obligation, without what it is for and without its lemmas.
  Key key(const check::Obligation& obligation);
  /// The key of a polynomial where guards hold.
  Key key(const check::Guards& given, const check::Poly& poly);

 private:
  /// A polynomial without the names of its bound indices, and these in the order in which they stand there.
  struct Shape {
    std::string text;
    std::vector<check::Atom> bound;
  };
  struct NumberedShape {
    std::uint32_t number = 0;
    std::vector<check::Atom> bound;
  };
  struct PolyHash {
    std::size_t operator()(const check::Poly& poly) const { return poly.hash(); }
  };

  const NumberedShape& shape(const check::Poly& poly);
  Shape describe(const check::Poly& poly);
  Shape describe(const check::Poly::Term& term);
  Shape describe(check::Atom atom);
  static Shape join(std::vector<Shape> parts, char separator);
  void start();
  void add(std::uint32_t kind, const check::Poly& poly);
  /// Appends the guards to the key, sorted once their indices are numbered.
  void add(const check::Guards& guards);

  const check::Atoms& atoms_;
  std::unordered_map<check::Poly, NumberedShape, PolyHash> shapes_;
  std::unordered_map<std::string, std::uint32_t> numbers_;  // of shapes, by text
  Key key_;
  std::vector<check::Atom> order_;  // the bound indices in the order in which they occurred first
};

}  // namespace rulemill::prove
