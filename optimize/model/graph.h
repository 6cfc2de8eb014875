// The graph of a model. Every value is an immutable, hash-consed term over the model's inputs, constants and opaque
// nodes. A search state is therefore the list of its output values, and equal graphs are equal lists. Arguments always
// have smaller ids than their users: sorting by id gives a topological order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "algebra/execution/reference.h"
#include "algebra/library/library.h"
#include "algebra/sizes/poly.h"
#include "optimize/model/data_type.h"

namespace rulemill::optimize {

enum class ValueId : std::uint32_t {};
enum class NodeId : std::uint32_t {};
inline std::uint32_t index(ValueId id) { return static_cast<std::uint32_t>(id); }
inline std::uint32_t index(NodeId id) { return static_cast<std::uint32_t>(id); }

/// The type of a tensor: dimensions, which may be symbolic, and a data type. Empty for a tensor of unknown rank or of
/// an unsupported data type.
class ValueType {
 public:
  ValueType() = default;
  ValueType(std::nullopt_t) {}
  ValueType(algebra::Shape shape, DataType type = DataType::Float32) : data_type(type), shape_(std::move(shape)) {}

  explicit operator bool() const { return shape_.has_value(); }
  bool has_value() const { return shape_.has_value(); }
  algebra::Shape value_or(algebra::Shape other) const { return shape_.value_or(std::move(other)); }
  algebra::Shape& operator*() { return *shape_; }
  const algebra::Shape& operator*() const { return *shape_; }
  algebra::Shape* operator->() { return &*shape_; }
  const algebra::Shape* operator->() const { return &*shape_; }

  /// Empty types are equal.
  friend bool operator==(const ValueType& a, const ValueType& b) {
    return a.shape_ == b.shape_ && (!a || a.data_type == b.data_type);
  }

  DataType data_type = DataType::Float32;

 private:
  std::optional<algebra::Shape> shape_;
};

/// Returns the types of the instance's outputs; nullopt if it does not accept these inputs. All real ones have a single
/// type, `real_type` if there is no real input. Operators that only move elements accept Booleans, too.
std::optional<std::vector<DataType>> infer_data_types(const algebra::OperatorInstance& instance,
                                                      std::span<const DataType> inputs,
                                                      DataType real_type = DataType::Float32);

/// Returns false if no input determines the data type of the instance's real outputs.
bool has_real_input(const algebra::OperatorInstance& instance);

struct Node {
  enum class Kind : std::uint8_t {
    Input,  // an input of the model
    Constant,
    Algebra,  // an operator instance applied to arguments
    Opaque,   // a node of the model that no definition matches
  };
  static constexpr std::uint32_t no_origin = 0xffffffff;

  Kind kind = Kind::Input;
  bool constant = false;     // can be folded: computed from constants only, at known sizes, and not much larger
  std::uint32_t source = 0;  // number of the input, constant or opaque node in the bank
  algebra::InstanceId instance{};
  std::uint32_t origin = no_origin;  // index of the node in the original model that this one comes from
  std::vector<ValueId> arguments;
  std::vector<algebra::Poly> sizes;        // the instance's size parameters
  DataType real_type = DataType::Float32;  // of the real outputs, if the instance has no real inputs
  std::vector<ValueId> outputs;
};

struct Value {
  NodeId node{};
  std::uint32_t output = 0;
  ValueType type;
  std::string name;  // in the model; empty for a value that a rewrite created
};

/// Owner of the nodes and values of all graphs that are derived from one model. Not thread-safe.
class GraphBank {
 public:
  GraphBank(algebra::Library& library, algebra::Symbols& symbols) : library_(&library), symbols_(&symbols) {}

  algebra::Library& library() const { return *library_; }
  algebra::Symbols& symbols() const { return *symbols_; }

  /// Interns an input by name and type.
  ValueId input(const std::string& name, ValueType type);
  /// Interns a constant by name and content. Its elements are rounded to its type.
  ValueId constant(const std::string& name, std::shared_ptr<const algebra::Tensor> tensor,
                   DataType data_type = DataType::Float32);
  /// Interns a constant that is read on each use. Constants of one name have different `content` texts.
  using Reader = std::function<std::shared_ptr<const algebra::Tensor>()>;
  ValueId constant(const std::string& name, const std::string& content, std::vector<std::int64_t> shape, Reader read,
                   DataType data_type = DataType::Float32);
  /// Returns the node; nullopt if the arguments are ill-typed. Sorts the arguments of a commutative instance by id.
  /// `real_type` is the data type of the real outputs of an instance without real inputs.
  std::optional<NodeId> apply(algebra::InstanceId instance, std::span<const ValueId> arguments,
                              std::span<const algebra::Poly> sizes, DataType real_type = DataType::Float32);
  /// Interns an opaque node by `key` and arguments.
  NodeId opaque(const std::string& key, std::span<const ValueId> arguments, std::span<const ValueType> types);
  /// Returns the same node applied to other arguments of the same types.
  NodeId with_arguments(NodeId node, std::span<const ValueId> arguments);

  const Node& node(NodeId id) const { return nodes_[index(id)]; }
  const Value& value(ValueId id) const { return values_[index(id)]; }
  const Node& node_of(ValueId id) const { return node(value(id).node); }
  const algebra::OperatorInstance& instance(const Node& node) const { return library_->instance(node.instance); }
  std::size_t node_count() const { return nodes_.size(); }
  std::size_t value_count() const { return values_.size(); }

  /// Returns a constant's elements; the bank does not cache them.
  std::shared_ptr<const algebra::Tensor> tensor(std::uint32_t source) const { return readers_[source](); }

  /// Values that ConstantFolder has folded, with the resulting constants.
  std::unordered_map<ValueId, ValueId>& folded_constants() { return folded_constants_; }

  /// Set the name or origin unless it is set already.
  void set_name(ValueId value, const std::string& name);
  void set_origin(NodeId node, std::uint32_t origin);

  /// Returns the nodes that the roots depend on, arguments before users.
  std::vector<NodeId> live_nodes(std::span<const ValueId> roots) const;
  /// Returns the roots with values replaced wherever they occur. Replacements themselves are not searched. `rebuilt`,
  /// if given, receives each node whose arguments changed, with its new node.
  std::vector<ValueId> replace(std::span<const ValueId> roots, const std::unordered_map<ValueId, ValueId>& replacements,
                               std::unordered_map<NodeId, NodeId>* rebuilt = nullptr);
  /// Returns true if any of `targets` occurs in the terms of `roots`.
  bool depend_on(std::span<const ValueId> roots, std::span<const ValueId> targets) const;

 private:
  NodeId intern(Node node, std::span<const ValueType> types);
  bool is_foldable(const Node& node, std::span<const ValueType> types) const;
  std::size_t hash(const Node& node) const;

  algebra::Library* library_;
  algebra::Symbols* symbols_;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<Reader> readers_;  // by constant
  double max_constant_elements_ = 0;
  std::unordered_map<ValueId, ValueId> folded_constants_;
  mutable std::vector<std::uint32_t> visited_;  // by node: the last traversal that visited it
  mutable std::uint32_t traversal_ = 0;
  std::unordered_map<std::string, std::uint32_t> input_sources_, constant_sources_, opaque_sources_;
  std::unordered_map<std::size_t, std::vector<NodeId>> index_;
};

/// Returns the dimensions; nullopt if one is symbolic.
std::optional<std::vector<std::int64_t>> constant_dims(const algebra::Shape& shape);
/// Returns a digest of shape and elements, 32 hex digits.
std::string digest(const algebra::Tensor& tensor);

}  // namespace rulemill::optimize
