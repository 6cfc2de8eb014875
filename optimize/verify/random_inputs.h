// Inputs on which graphs are compared: random ones, whose ranges and sizes change from one to the next, or given ones.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "optimize/model/evaluate.h"
#include "optimize/model/given_inputs.h"

namespace rulemill::optimize {

/// What one comparison evaluates: random inputs by number, their scale, and the size of dynamic dimensions, if all are
/// equal; with zeros among the elements; or given inputs, with random outputs of opaque nodes.
struct Draw {
  std::uint32_t number = 0;
  double scale = 1;
  std::optional<std::int64_t> size = std::nullopt;
  const GivenInputs* given = nullptr;
  bool has_zeros = false;

  /// Other draws only reject; they do not show that values are informative.
  bool is_ordinary() const { return scale == 1 && !size && !has_zeros; }
};

/// Returns "input 2 times 0.016", "input 2 with zeros", "dynamic sizes 1", or the file of given inputs.
std::string describe(const Draw& draw);

/// Returns sizes of the dynamic dimensions that `given` lacks. They are small and mostly odd, so that errors of windows
/// and splits have an effect.
GraphEvaluator::Sizes draw_sizes(const Draw& draw, std::span<const algebra::Atom> atoms,
                                 const GraphEvaluator::Sizes& given);

/// The values of model inputs and of outputs of opaque nodes for one draw; the same for all graphs of a bank.
class RandomInputs {
 public:
  RandomInputs(const GraphBank& bank, const GraphEvaluator::Sizes& sizes, const Draw& draw)
      : bank_(&bank), shapes_(bank, sizes, {}), draw_(draw) {}

  /// Returns nullptr for a value whose type is not supported.
  GraphEvaluator::TensorPtr operator()(ValueId id);
  /// Replaces the values.
  void set(ValueId id, algebra::Tensor tensor);

 private:
  GraphEvaluator::TensorPtr& tensor_of(ValueId id);

  const GraphBank* bank_;
  GraphEvaluator shapes_;
  Draw draw_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, GraphEvaluator::TensorPtr> tensors_;  // by source and output
};

}  // namespace rulemill::optimize
