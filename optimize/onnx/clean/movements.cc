#include <algorithm>
#include <set>

#include "optimize/onnx/clean/passes.h"
#include "optimize/onnx/operators/node_arguments.h"

namespace rulemill::optimize {
namespace {

class MovementMerger {
 public:
  explicit MovementMerger(CleanGraph& graph) : graph_(graph), readers_(graph.count_readers()) {}

  bool run() {
    return graph_.change_nodes([&](onnx::NodeProto& node) { return merge(node); });
  }

 private:
  bool merge(onnx::NodeProto& node) {
    if (!is_standard(node) || node.input_size() == 0) return false;
    if (node.op_type() == "Concat") return merge_concatenation(node);
    if (node.op_type() == "Gather") return reshape_instead_of_gather(node);
    const onnx::NodeProto* inner = graph_.producer(node.input(0));
    if (inner == nullptr || !is_standard(*inner) || inner->input_size() == 0) return false;
    if (node.op_type() == "Transpose" && inner->op_type() == "Transpose") return merge_transposes(node, *inner);
    if (node.op_type() == "Reshape" && has_trait(*inner, reshapes)) return merge_reshapes(node, *inner);
    if (node.op_type() == "Slice" && inner->op_type() == "Slice") return merge_slices(node, *inner);
    if (node.op_type() == "Unsqueeze" && inner->op_type() == "Unsqueeze") return merge_unsqueezes(node, *inner);
    return false;
  }

  bool is_read_once(const std::string& name) const {
    const auto found = readers_.find(name);
    return found != readers_.end() && found->second == 1;
  }

  bool merge_transposes(onnx::NodeProto& node, const onnx::NodeProto& inner) const {
    const auto outer_order = graph_.integers(node, 1, "perm"), inner_order = graph_.integers(inner, 1, "perm");
    if (!outer_order || !inner_order || outer_order->size() != inner_order->size()) return false;
    onnx::AttributeProto order;
    order.set_name("perm");
    order.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t from : *outer_order) {
      if (from < 0 || from >= static_cast<std::int64_t>(inner_order->size())) return false;
      order.add_ints((*inner_order)[static_cast<std::size_t>(from)]);
    }
    node.mutable_attribute(0)->Swap(&order);
    node.set_input(0, inner.input(0));
    return true;
  }

  /// A reshape to dimensions that are not copied does not depend on those of its input.
  bool merge_reshapes(onnx::NodeProto& node, const onnx::NodeProto& inner) {
    const auto argument = graph_.integers(node, 1, "shape");
    if (!argument) return false;
    if (std::ranges::find(*argument, 0) == argument->end()) {
      node.set_input(0, inner.input(0));
      return true;
    }
    const auto result = graph_.shape(node.output(0)), source = graph_.shape(inner.input(0));
    if (!result || !source || !has_input(node, 1) || int_attribute(node, "allowzero", 0) != 0) return false;
    const auto direct = shape_argument(*result, *source);
    if (!direct || !graph_.allows_new_initializers() || !is_read_once(node.input(0))) return false;
    set_integers(node, 1, "_shape", *direct);
    node.set_input(0, inner.input(0));
    return true;
  }

  /// Returns an argument with which a reshape has the shape; a dimension of 0 elements would copy one.
  static std::optional<Dims> shape_argument(const algebra::Shape& shape, const algebra::Shape& input) {
    const bool is_empty = std::ranges::find(shape, algebra::Poly(0)) != shape.end();
    return is_empty ? std::nullopt : reshape_argument(shape, input);
  }

  /// Gathers all elements along an axis in their order, as masks of attention do.
  bool reshape_instead_of_gather(onnx::NodeProto& node) {
    const auto source = graph_.shape(node.input(0)), result = graph_.shape(node.output(0));
    const auto movement = graph_.movement(node);
    if (!source || !result || !movement || !graph_.allows_new_initializers()) return false;
    const auto argument = movement->keeps_order(Dimensions(source->begin(), source->end()))
                              ? shape_argument(*result, *source)
                              : std::nullopt;
    if (!argument) return false;
    node.set_op_type("Reshape");
    node.clear_attribute();
    set_integers(node, 1, "_shape", *argument);
    return true;
  }

  void set_integers(onnx::NodeProto& node, int input, const char* suffix, const Dims& numbers) {
    const RawTensor value = make_integer_tensor({static_cast<std::int64_t>(numbers.size())}, numbers);
    node.set_input(input, graph_.add_constant(node.output(0) + suffix, value));
  }

  /// Returns starts, ends, axes and steps; nullopt if they are not constant or the axes not given.
  std::optional<std::vector<Dims>> slice_arguments(const onnx::NodeProto& node) const {
    std::vector<Dims> arguments;
    for (int i = 1; i <= 4; ++i) {
      const bool has_default = i == 4 && !has_input(node, i);
      const auto numbers = has_default ? std::optional(Dims(arguments[0].size(), 1)) : graph_.integers(node, i, "");
      if (!numbers) return std::nullopt;
      arguments.push_back(*numbers);
    }
    return arguments;
  }

  /// Slices along different axes.
  bool merge_slices(onnx::NodeProto& node, const onnx::NodeProto& inner) {
    if (!is_read_once(node.input(0)) || !graph_.allows_new_initializers()) return false;
    auto arguments = slice_arguments(inner);
    const auto added = slice_arguments(node);
    if (!arguments || !added) return false;
    for (std::size_t i = 0; i < arguments->size(); ++i)
      (*arguments)[i].insert((*arguments)[i].end(), (*added)[i].begin(), (*added)[i].end());
    std::set<std::int64_t> axes;
    for (const std::int64_t axis : (*arguments)[2]) {
      if (axis < 0 || !axes.insert(axis).second) return false;
    }
    static constexpr const char* suffixes[] = {"_starts", "_ends", "_axes", "_steps"};
    while (node.input_size() < 5) node.add_input("");
    for (int i = 0; i < 4; ++i) set_integers(node, i + 1, suffixes[i], (*arguments)[static_cast<std::size_t>(i)]);
    node.set_input(0, inner.input(0));
    return true;
  }

  /// Axes that count from the front, given as inputs. An axis of the inner node moves behind those that are added.
  bool merge_unsqueezes(onnx::NodeProto& node, const onnx::NodeProto& inner) {
    if (!is_read_once(node.input(0)) || !graph_.allows_new_initializers() || !has_input(node, 1)) return false;
    const auto added = graph_.integers(node, 1, ""), inner_axes = graph_.integers(inner, 1, "axes");
    const auto is_negative = [](std::int64_t axis) { return axis < 0; };
    if (!added || !inner_axes || std::ranges::any_of(*added, is_negative)) return false;
    if (std::ranges::any_of(*inner_axes, is_negative)) return false;
    const std::set<std::int64_t> outer_axes(added->begin(), added->end());
    std::set<std::int64_t> axes = outer_axes;
    for (const std::int64_t inner_axis : *inner_axes) {
      std::int64_t axis = inner_axis;
      for (const std::int64_t outer_axis : outer_axes) axis += outer_axis <= axis ? 1 : 0;
      axes.insert(axis);
    }
    set_integers(node, 1, "_axes", Dims(axes.begin(), axes.end()));
    node.set_input(0, inner.input(0));
    return true;
  }

  /// Joins the operands of a concatenation along the same axis that nothing else reads.
  bool merge_concatenation(onnx::NodeProto& node) {
    const std::int64_t axis = int_attribute(node, "axis", 1);
    std::vector<std::string> inputs;
    for (const auto& name : node.input()) {
      const onnx::NodeProto* inner = graph_.producer(name);
      const bool is_same = inner != nullptr && is_standard(*inner) && inner->op_type() == "Concat" &&
                           int_attribute(*inner, "axis", 1) == axis && is_read_once(name);
      if (is_same) {
        inputs.insert(inputs.end(), inner->input().begin(), inner->input().end());
      } else {
        inputs.push_back(name);
      }
    }
    if (inputs.size() == static_cast<std::size_t>(node.input_size())) return false;
    node.clear_input();
    for (const std::string& name : inputs) node.add_input(name);
    return true;
  }

  CleanGraph& graph_;
  std::unordered_map<std::string, int> readers_;
};

}  // namespace

bool merge_movements(CleanGraph& graph) { return graph.opset() >= first_clean_opset && MovementMerger(graph).run(); }

}  // namespace rulemill::optimize
