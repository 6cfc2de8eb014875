// Whether two constants agree: a folded constant was computed in floats, by a program that rounds in its own way.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "optimize/model/graph.h"

namespace rulemill::optimize {

/// Elements may differ by this many unit roundoffs of the type, relative to the largest element.
inline constexpr double max_constant_roundoffs = 16;

/// Compares constants of one bank, stored or computed from others. Keeps a few elements of each, so that most pairs are
/// told apart without computing them again.
class ConstantComparison {
 public:
  explicit ConstantComparison(const GraphBank& bank) : bank_(&bank) {}

  /// Returns the largest relative difference if the constants agree. Constants that are stored in both models agree
  /// only if they are identical.
  std::optional<double> difference(ValueId a, ValueId b);

 private:
  struct Sample {
    bool computable = false;
    double largest = 0;  // finite element, absolute
    std::vector<double> elements;
  };

  const Sample& sample(ValueId value);

  const GraphBank* bank_;
  std::unordered_map<ValueId, Sample> samples_;
  std::map<std::pair<ValueId, ValueId>, std::optional<double>> differences_;  // of constants with agreeing samples
};

}  // namespace rulemill::optimize
