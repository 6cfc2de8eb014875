// The one table of ONNX's operators: what is known of a node's results if something is known of its inputs. The
// operators are those that compute sizes, move elements, or are exact; others have definitions (data/operators). A
// reading on which ONNX and its runtimes differ is unknown.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "optimize/onnx/operators/movement.h"

namespace rulemill::optimize {

/// What holds of all nodes of an operator.
enum Trait : std::uint32_t {
  keeps_type = 1,      // the first result has the element type of the first input
  elementwise = 2,     // an element of the result is computed from those at its index; other inputs are broadcast
  moves_first = 4,     // the elements of the results are elements of the first input
  never_negative = 8,  // no result is -0
  passes_zero = 16,    // zeros of the other sign in the first input change at most the signs of zeros in the results
  passes_zeros = 32,   // the same of all inputs
  random = 64,         // the results differ each time
  optional_results = 128,  // further results do not change how the first is computed
  reshapes = 256           // the elements keep their order
};

bool has_trait(const onnx::NodeProto& node, Trait trait);
/// Whether a node of ONNX's default domain without subgraphs gives the same results each time.
bool is_repeatable(const onnx::NodeProto& node);

/// Returns what is known of the node's outputs, one for each.
std::vector<KnownTensor> evaluate_node(const onnx::NodeProto& node, int opset, std::span<const KnownTensor> inputs,
                                       EvaluationContext& context);
/// Whether some nodes of the operator are movements of their first input.
bool can_move(const onnx::NodeProto& node);
/// Returns the movement that makes the output from the first input; nullopt if none does, or it is not known.
std::optional<Movement> movement_of(const onnx::NodeProto& node, int opset, std::span<const KnownTensor> inputs,
                                    EvaluationContext& context, std::size_t output = 0);

}  // namespace rulemill::optimize
