// Graphs inside nodes (branches, loops, scans) as models of their own, and back into their nodes: what a body takes
// from outside is an input there, or an initializer where it is a weight.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "optimize/onnx/import.h"

namespace rulemill::optimize {

struct Body {
  std::uint32_t node = 0;  // position in the outer graph
  int attribute = 0;       // of the node
  int graph = -1;          // of the attribute, where it has several; -1: its only one
  OnnxModel model;
  std::map<std::string, ValueType> captured;  // inputs of the model that the body takes from outside
  std::set<std::string> weights;              // initializers that it takes from outside
};

/// Whether a node of it has a graph inside.
bool has_bodies(const OnnxModel& model);

/// Of the model's own graph; bodies inside bodies are theirs.
std::vector<Body> bodies_of(const OnnxModel& model, const Import& import, const GraphBank& bank);

/// Puts the body's graph, as `better` has it, back into its node.
void put_back(OnnxModel& model, const Body& body, const OnnxModel& better);

/// Names that the node's graphs use but do not define: what they take from outside.
std::set<std::string> captured_names(const onnx::NodeProto& node);

}  // namespace rulemill::optimize
