// Subgraphs: graphs inside nodes (branches, loops, scans) as models of their own, and back into their nodes. A value
// captured from the outer graph is an input of the subgraph's model, or an initializer if it is a weight.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "optimize/onnx/import.h"

namespace rulemill::optimize {

struct Subgraph {
  std::uint32_t node = 0;  // position in the outer graph
  int attribute = 0;       // of the node
  std::string name;        // of the attribute
  int graph = -1;          // index in an attribute with several graphs; -1: its only one
  OnnxModel model;
  std::map<std::string, ValueType> captured;  // inputs of the model that are captured from the outer graph
  std::set<std::string> weights;              // initializers that are captured
};

/// Returns whether any node has a subgraph.
bool has_subgraphs(const OnnxModel& model);

/// Returns the subgraphs of the main graph, or of its node at `position`; nested ones belong to the returned models.
std::vector<Subgraph> subgraphs_of(const OnnxModel& model, const ImportedModel& import, const GraphBank& bank,
                                   std::optional<std::uint32_t> position = std::nullopt);

/// Names inputs and outputs by the scope and their positions, and inputs that `captured` names as there, with nodes
/// between these names and those of the graph. Returns false if it has values with such names, or an outer graph has:
/// unknown sizes have the names of inputs.
bool rename_interface(OnnxModel& model, const std::map<std::string, std::string>& captured, const std::string& scope);

/// Gives inputs and outputs of two subgraphs common names: inputs and outputs by position, with the name of a scope
/// that no other pair has; captured values those of `captured`, by subgraph and name. An input that one subgraph types
/// more precisely has its type in both. Returns false if the subgraphs have other numbers of inputs or outputs, or
/// values with such names.
bool unify_interfaces(Subgraph& before, Subgraph& after, const std::map<std::string, std::string> (&captured)[2],
                      const std::string& scope);

/// Replaces the subgraph in its node by the graph of `optimized`.
void replace_subgraph(OnnxModel& model, const Subgraph& subgraph, const OnnxModel& optimized);

}  // namespace rulemill::optimize
