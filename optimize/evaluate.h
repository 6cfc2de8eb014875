// Runs a graph on numbers through the reference execution of its instances. Values that are shared between graphs are
// computed once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "optimize/graph.h"

namespace rulemill::optimize {

class Evaluator {
 public:
  using TensorPtr = std::shared_ptr<const algebra::Tensor>;
  using Sizes = std::unordered_map<algebra::Atom, std::int64_t>;
  /// Gives what the algebra does not compute: a model's input, or an output of an opaque node.
  using Source = std::function<TensorPtr(ValueId)>;

  enum class Precision {
    Exact,    // all in double
    AsTyped,  // in float32, and what a node computes is rounded to the type that it has in the model; float64 in double
  };

  Evaluator(const GraphBank& bank, Sizes sizes, Source source, Precision precision = Precision::Exact)
      : bank_(&bank), sizes_(std::move(sizes)), source_(std::move(source)), precision_(precision) {}

  /// Throws Error if a node does not type at these sizes.
  TensorPtr value(ValueId id);
  /// Computes all roots, arguments first, and hands each over as soon as it is there; nothing is kept longer than it is
  /// used. Constants are read anew for each use, and what depends on them alone is computed when it is first asked for.
  /// Throws Interrupted between nodes.
  void run(std::span<const ValueId> roots, const std::function<void(std::size_t root, const TensorPtr&)>& visit);
  /// The dimensions at these sizes.
  std::vector<std::int64_t> dims(const algebra::Shape& shape) const;

 private:
  /// Nodes to compute, arguments before users; constants only where they are roots.
  std::vector<NodeId> order(std::span<const ValueId> roots) const;
  TensorPtr argument(ValueId id) const;
  void compute(NodeId id);
  std::int64_t number(const algebra::Poly& poly) const;

  const GraphBank* bank_;
  Sizes sizes_;
  Source source_;
  Precision precision_;
  std::unordered_map<ValueId, TensorPtr> values_;
};

/// Turns what is computed from constants into constants of its own, each once: computed in double, rounded once.
class ConstantFolder {
 public:
  explicit ConstantFolder(GraphBank& bank) : bank_(&bank) {}
  /// The value itself if it is not computed, or not from constants alone. Throws Error if finite constants would become
  /// infinity or NaN.
  ValueId folded(ValueId id);

 private:
  GraphBank* bank_;
};

}  // namespace rulemill::optimize
