// The model graph in our own terms. Every value is an immutable, hash-consed term over the model's inputs, constants
// and opaque nodes, so that a search state is no more than the list of its output values, and equal graphs are equal
// lists. Arguments always have smaller ids than their users: sorting by id is a topological order.
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

namespace rulemill::optimize {

enum class ValueId : std::uint32_t {};
enum class NodeId : std::uint32_t {};
inline std::uint32_t index(ValueId id) { return static_cast<std::uint32_t>(id); }
inline std::uint32_t index(NodeId id) { return static_cast<std::uint32_t>(id); }

/// What the elements of a tensor are in ONNX, as far as the algebra speaks of them.
enum class Element : std::uint8_t { Float32, Float16, BFloat16, Float64, Truth, Integer };

/// A tensor of known rank, whose dimensions may be symbolic, and its elements; nothing for all that the algebra does
/// not speak of.
struct ValueType : std::optional<algebra::Shape> {
  using std::optional<algebra::Shape>::optional;
  ValueType(algebra::Shape shape, Element of) : std::optional<algebra::Shape>(std::move(shape)), element(of) {}
  Element element = Element::Float32;

  friend bool operator==(const ValueType& a, const ValueType& b) {
    return a.has_value() == b.has_value() && (!a || (*a == *b && a.element == b.element));
  }
};

/// What the instance's outputs have as elements; nothing if it does not take these. Numbers are of one float type,
/// which is float32 if no input says; an operator that only moves elements moves truths, too.
std::optional<std::vector<Element>> element_rule(const algebra::Instance& instance, std::span<const Element> inputs);

struct Node {
  enum class Kind : std::uint8_t {
    Input,     // of the model; `source` is its number in the bank
    Constant,  // `source` is its number in the bank
    Algebra,   // instance applied to arguments
    Opaque,    // a node of the original model that nothing is known about; `source` is its number in the bank
  };
  static constexpr std::uint32_t no_origin = 0xffffffff;

  Kind kind = Kind::Input;
  bool constant = false;  // computed from constants alone, at known sizes, and not much larger: it can be folded
  std::uint32_t source = 0;
  algebra::InstanceId instance{};
  std::uint32_t origin = no_origin;  // the original model's node that this one stems from
  std::vector<ValueId> arguments;
  std::vector<algebra::Poly> sizes;  // the instance's size parameters
  std::vector<ValueId> outputs;
};

struct Value {
  NodeId node{};
  std::uint32_t output = 0;
  ValueType type;
  std::string name;  // what the model calls it; empty if it came by a rewrite
};

/// Owns nodes and values of all graphs that descend from one model. Not for sharing between threads.
class GraphBank {
 public:
  GraphBank(algebra::Library& library, algebra::Symbols& symbols) : library_(&library), symbols_(&symbols) {}

  algebra::Library& library() const { return *library_; }
  algebra::Symbols& symbols() const { return *symbols_; }

  /// Interned by name and shape.
  ValueId input(const std::string& name, ValueType type);
  /// Interned by name and content; rounded to its type.
  ValueId constant(const std::string& name, std::shared_ptr<const algebra::Tensor> tensor,
                   Element element = Element::Float32);
  /// The same for one that is read when it is asked for. `content` tells it from others of the name.
  using Reader = std::function<std::shared_ptr<const algebra::Tensor>()>;
  ValueId constant(const std::string& name, const std::string& content, std::vector<std::int64_t> shape, Reader read,
                   Element element = Element::Float32);
  /// The node, or nothing if the arguments do not type. Arguments of a commutative instance are ordered by id.
  std::optional<NodeId> apply(algebra::InstanceId instance, std::span<const ValueId> arguments,
                              std::span<const algebra::Poly> sizes);
  /// `key` tells opaque nodes of one model apart: two calls with equal key and arguments give the same node.
  NodeId opaque(const std::string& key, std::span<const ValueId> arguments, std::span<const ValueType> types);
  /// The same node on other arguments of the same types.
  NodeId with_arguments(NodeId node, std::span<const ValueId> arguments);

  const Node& node(NodeId id) const { return nodes_[index(id)]; }
  const Value& value(ValueId id) const { return values_[index(id)]; }
  const Node& node_of(ValueId id) const { return node(value(id).node); }
  const algebra::Instance& instance(const Node& node) const { return library_->instance(node.instance); }
  std::size_t node_count() const { return nodes_.size(); }
  std::size_t value_count() const { return values_.size(); }

  const std::string& input_name(std::uint32_t source) const { return input_names_[source]; }
  /// A constant's elements; the bank keeps none that it can read again.
  std::shared_ptr<const algebra::Tensor> tensor(std::uint32_t source) const { return readers_[source](); }

  /// What values are once they are computed, of those that ConstantFolder has folded.
  std::unordered_map<ValueId, ValueId>& folded() { return folded_; }

  /// The first name and origin that are given stay.
  void set_name(ValueId value, const std::string& name);
  void set_origin(NodeId node, std::uint32_t origin);

  /// Nodes that the roots need, arguments before users.
  std::vector<NodeId> live(std::span<const ValueId> roots) const;
  /// The roots with values replaced wherever they occur. Replacements are used as they are, not searched. `rebuilt`, if
  /// given, receives the nodes that had to be made again on other arguments.
  std::vector<ValueId> replace(std::span<const ValueId> roots, const std::unordered_map<ValueId, ValueId>& replacements,
                               std::unordered_map<NodeId, NodeId>* rebuilt = nullptr);
  /// Whether any of `targets` occurs in the terms of `roots`.
  bool depends(std::span<const ValueId> roots, std::span<const ValueId> targets) const;

 private:
  NodeId intern(Node node, std::span<const ValueType> types);
  bool foldable(const Node& node, std::span<const ValueType> types) const;
  std::size_t hash(const Node& node) const;

  algebra::Library* library_;
  algebra::Symbols* symbols_;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<std::string> input_names_;
  std::vector<Reader> readers_;  // by constant
  double largest_constant_ = 0;  // elements
  std::unordered_map<ValueId, ValueId> folded_;
  mutable std::vector<std::uint32_t> visited_;  // by node: the last walk that came by
  mutable std::uint32_t walk_ = 0;
  std::unordered_map<std::string, std::uint32_t> input_sources_, constant_sources_, opaque_sources_;
  std::unordered_map<std::size_t, std::vector<NodeId>> index_;
};

/// Dimensions, if all are numbers.
std::optional<std::vector<std::int64_t>> concrete(const algebra::Shape& shape);
/// Digest of shape and bytes, 32 hex digits.
std::string digest(const algebra::Tensor& tensor);

}  // namespace rulemill::optimize
