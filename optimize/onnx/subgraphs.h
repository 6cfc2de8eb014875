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
  int graph = -1;          // index in an attribute with several graphs; -1: its only one
  OnnxModel model;
  std::map<std::string, ValueType> captured;  // inputs of the model that are captured from the outer graph
  std::set<std::string> weights;              // initializers that are captured
};

/// Returns whether any node has a subgraph.
bool has_subgraphs(const OnnxModel& model);

/// Returns the subgraphs of the model's main graph; nested subgraphs belong to the returned models.
std::vector<Subgraph> subgraphs_of(const OnnxModel& model, const ImportedModel& import, const GraphBank& bank);

/// Replaces the subgraph in its node by the graph of `optimized`.
void replace_subgraph(OnnxModel& model, const Subgraph& subgraph, const OnnxModel& optimized);

}  // namespace rulemill::optimize
