// Random elements for the inputs of models, and sizes for their open dimensions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "optimize/model/evaluate.h"

namespace rulemill::optimize {

/// Returns the open sizes of the types of these values and of all values that they depend on, and of their nodes.
std::vector<algebra::Atom> open_sizes_of(const GraphBank& bank, std::span<const ValueId> roots);

/// The draw with one number. Equal numbers give equal elements.
class RandomDraw {
 public:
  RandomDraw(const GraphBank& bank, std::uint32_t number, const std::vector<algebra::Atom>& open);

  const GraphEvaluator::Sizes& sizes() const { return sizes_; }
  /// "elements in [-1, 1], draw 0".
  std::string description() const;
  /// Returns a tensor of the value's type. Equal seeds give equal elements.
  GraphEvaluator::TensorPtr elements(const ValueType& type, std::uint64_t seed) const;

 private:
  const GraphBank* bank_;
  std::uint32_t number_;
  GraphEvaluator::Sizes sizes_;
};

}  // namespace rulemill::optimize
