// A node that stands for several: nodes that read its inputs or each other's results, each resolved by the operators'
// mappings, with the steps of all of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "optimize/onnx/mapping/resolve_node.h"

namespace rulemill::optimize {

/// Descriptions of parts: a node of ONNX's own domain, and values of its attributes.
NodeDescription node(std::string op_type);
OnnxLiteral attribute(double value);
OnnxLiteral attribute(std::int64_t value);
OnnxLiteral attribute(std::vector<algebra::Poly> values);
/// Returns an attribute that is one integer; nullopt if it is absent or has another type.
std::optional<std::int64_t> integer_of(const NodeDescription& description, const std::string& attribute);

class NodeParts {
 public:
  /// `reason` is why there are no parts if no mapping has another one.
  NodeParts(const NodeQuery& whole, GraphBank& bank, std::string reason)
      : whole_(whole), bank_(bank), reason_(std::move(reason)) {}

  /// A value that a part reads: of an input, of a number or of an earlier part; or integers.
  struct Operand {
    std::optional<ValueId> value;  // nullopt for integers
    LoweredNode::Reference from;
    std::optional<OnnxLiteral> literal;  // of integers and numbers
  };

  Operand input(std::uint32_t number) const;
  /// Returns nullopt for an input that is absent or of an unknown type.
  std::optional<Operand> typed_input(std::uint32_t number) const;
  Operand number(double value);
  static Operand integers(std::vector<algebra::Poly> values) {
    return {std::nullopt, {}, attribute(std::move(values))};
  }

  /// Adds a node, of ONNX's own domain unless its description has another, with `outputs` results. Returns an empty
  /// list, and keeps the reason, if no mapping fits it.
  std::vector<Operand> add(NodeDescription description, const std::vector<Operand>& operands, std::size_t outputs);
  std::optional<Operand> add(NodeDescription description, const std::vector<Operand>& operands);
  /// The same for a node that is not added if an operand is absent, such as the result of one that was not.
  std::optional<Operand> add(const char* op_type, const std::vector<std::optional<Operand>>& operands,
                             std::map<std::string, OnnxLiteral> attributes = {});

  /// Returns a numeric attribute of the whole node, or its default by an operator's mapping; nullopt if it has none.
  std::optional<double> number_of(const std::string& attribute) const;
  const algebra::Shape& shape(const Operand& operand) const { return *bank_.value(*operand.value).type; }
  const std::string& reason() const { return reason_; }
  /// The lowered node, whose outputs are the results.
  LoweredNode finish(const std::vector<Operand>& results);
  LoweredNode finish(const Operand& result) { return finish(std::vector{result}); }

 private:
  std::vector<Operand> append(const LoweredNode& part, const std::vector<Operand>& operands);
  LoweredNode::Reference add_literal(double value);
  ValueId literal_value(const LoweredNode::Reference& literal);
  DataType literal_type() const;

  const NodeQuery& whole_;
  GraphBank& bank_;
  LoweredNode lowered_;
  std::string reason_;
};

}  // namespace rulemill::optimize
