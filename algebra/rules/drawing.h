// A drawing of a graph as data of an HTML page, which lays it out (pages/layout.js).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/text/json.h"

namespace rulemill::algebra {

struct DrawnNode {
  enum class Kind : std::uint8_t { Input, Operator, Output, Neighbor } kind = Kind::Operator;
  std::string label;   // the name of the input or operator
  std::string detail;  // below the label: an input's shape, an operator's parameters and sizes
  std::string type;    // the shapes of its outputs, if known
  std::string name{};  // of a model's node
};

class Drawing {
 public:
  /// Returns the node's index.
  std::size_t add(const DrawnNode& node) {
    nodes_.push_back({static_cast<int>(node.kind), node.label, node.detail, node.type, node.name});
    return nodes_.size() - 1;
  }
  /// The edges to a node are in the order of its arguments. `label`: the output's name, if there are several.
  void connect(std::size_t from, std::size_t to, const std::string& label) { edges_.push_back({from, to, label}); }

  /// Nodes as [kind, label, detail, type, name] and edges as [from, to, label].
  runtime::Json json() const { return {{"n", nodes_}, {"e", edges_}}; }

 private:
  runtime::Json nodes_ = runtime::Json::array(), edges_ = runtime::Json::array();
};

}  // namespace rulemill::algebra
