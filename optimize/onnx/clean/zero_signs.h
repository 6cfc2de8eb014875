// Where the sign of a zero matters. Zeros of either sign are equal, but not the same bits: x + 0 differs from x for
// x = -0 only. By IEEE 754 a sum is -0 only if all its terms are -0, and a term -0 in place of 0 changes at most the
// sign of a sum that is zero. Nothing is assumed of operators that are not listed.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_set>

#include "optimize/onnx/clean/clean_graph.h"

namespace rulemill::optimize {

class ZeroSigns {
 public:
  /// Describes the graph with the replacements so far; later changes of the graph make it outdated. `removable` is a
  /// node that may be replaced by an operand with zeros of other signs: nothing follows from it.
  ZeroSigns(const CleanGraph& graph, const onnx::NodeProto& removable);

  /// Whether no element of the value is ever -0.
  bool is_never_negative_zero(const std::string& name) const;
  /// Whether the bits of an output may depend on the signs of zeros in the value.
  bool is_observed(const std::string& name) const { return observed_.contains(name); }

 private:
  bool computes_no_negative_zero(const onnx::NodeProto& node) const;
  void observe_inputs(const onnx::NodeProto& node);
  bool passes_on_signs_only(const onnx::NodeProto& node, int position) const;
  const std::string& input(const onnx::NodeProto& node, int i) const { return graph_.current_name(node.input(i)); }

  const CleanGraph& graph_;
  std::unordered_set<std::string> never_negative_;  // of computed values
  std::unordered_set<std::string> observed_;
};

}  // namespace rulemill::optimize
