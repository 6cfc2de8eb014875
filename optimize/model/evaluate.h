// Evaluation of graphs by the reference execution of their operator instances, of shared values once.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "optimize/model/graph.h"

namespace rulemill::optimize {

class GraphEvaluator {
 public:
  using TensorPtr = std::shared_ptr<const algebra::Tensor>;
  using Sizes = std::unordered_map<algebra::Atom, std::int64_t>;
  /// Returns the value of a model input or of an output of an opaque node.
  using Source = std::function<TensorPtr(ValueId)>;

  enum class Precision {
    Float64,
    AsTyped,    // float32 with results rounded to their types in the model; nodes of type float64 in double
    Perturbed,  // AsTyped, and each result is multiplied by 1 plus or minus a unit roundoff of its type, at random
    Tracked,    // Float64 with bounds of rounding errors
  };

  GraphEvaluator(const GraphBank& bank, Sizes sizes, Source source, Precision precision = Precision::Float64)
      : bank_(&bank), sizes_(std::move(sizes)), source_(std::move(source)), precision_(precision) {}

  /// Returns bounds of the errors of a stored constant's elements, as Tensor::errors.
  using ConstantErrors = std::function<std::vector<double>(const algebra::Tensor&)>;
  /// Elements of stored constants of a float type get these errors; without, they are exact.
  void set_constant_errors(ConstantErrors errors) { constant_errors_ = std::move(errors); }
  /// Throws Error if a node is ill-typed at these sizes.
  TensorPtr value(ValueId id);
  /// Returns the value, and keeps it with all values that it needs: what is kept is not computed again.
  TensorPtr kept_value(ValueId id);
  bool is_kept(ValueId id) const { return values_.contains(id); }
  /// Returns the number of elements of the values that are kept.
  std::size_t kept_elements() const;
  void forget() { values_.clear(); }
  /// Computes all roots, arguments first, and passes each to `visit` once it is computed. To save memory, values are
  /// freed after their last use, constants are read for each use, and values that depend on constants only are computed
  /// just before their first use. Throws Interrupted between nodes.
  void run(std::span<const ValueId> roots, const std::function<void(std::size_t root, const TensorPtr&)>& visit);
  /// Returns the dimensions at these sizes.
  std::vector<std::int64_t> dims(const algebra::Shape& shape) const;

 private:
  /// Returns the nodes to compute, arguments before users; constants only if they are roots.
  std::vector<NodeId> evaluation_order(std::span<const ValueId> roots) const;
  TensorPtr argument(ValueId id) const;
  TensorPtr stored(const Node& node) const;
  void compute(NodeId id);
  std::int64_t evaluate(const algebra::Poly& poly) const;

  const GraphBank* bank_;
  Sizes sizes_;
  Source source_;
  Precision precision_;
  ConstantErrors constant_errors_;
  std::unordered_map<ValueId, TensorPtr> values_;
};

/// Constant folding. Values are computed in double, rounded once, and folded once.
class ConstantFolder {
 public:
  explicit ConstantFolder(GraphBank& bank) : bank_(&bank) {}
  /// Returns a constant equal to the value; the value itself if it is not computed from constants only. Throws Error if
  /// finite constants would become infinite or NaN.
  ValueId fold(ValueId id);

 private:
  GraphBank* bank_;
};

}  // namespace rulemill::optimize
