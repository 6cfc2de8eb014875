// The values of sums at a random point: where factors that no formula evaluates, and integers, have random values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>

#include "check/kernel/statement.h"

namespace rulemill::prove {

class RandomPoint {
 public:
  RandomPoint(const check::Statement& statement, std::uint64_t seed) : statement_(statement), random_(seed) {}

  /// The value of the sum; nothing if it is not known exactly. Throws Overflow beyond 64 bits.
  std::optional<algebra::Rational> value(const check::Sum& sum);
  /// Whether the guards hold, as far as their integers have values already.
  bool satisfies(const check::Guards& guards) const;

 private:
  std::optional<algebra::Rational> value(const check::Factor& factor);
  algebra::Rational drawn(const check::Sum& product, const check::Factor* factor);
  std::int64_t value(const check::Poly& poly);

  const check::Statement& statement_;
  std::mt19937_64 random_;
  std::map<check::Sum, algebra::Rational> products_;  // by their canonical form
  std::map<check::Atom, std::int64_t> integers_;
};

}  // namespace rulemill::prove
