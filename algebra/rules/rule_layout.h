// One side of a rule placed for drawing: inputs above, outputs below, every operator under its arguments. Units are
// pixels; equal rules give equal drawings.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

struct DrawnNode {
  enum class Kind : std::uint8_t { Input, Operator, Output } kind = Kind::Operator;
  std::string label;   // an input's name, an operator's
  std::string detail;  // an input's shape, an operator's parameters and sizes; empty for outputs
  std::string type;    // shapes of what it computes, if known
  int x = 0, y = 0;    // centre
  int width = 0, height = 0;
};

struct DrawnEdge {
  std::size_t from = 0, to = 0;
  std::string label;  // which of several outputs
};

struct Drawing {
  std::vector<DrawnNode> nodes;
  std::vector<DrawnEdge> edges;
  int width = 0, height = 0;
};

using Types = std::unordered_map<TermId, Shape>;

/// `types` may leave out terms; those are drawn without.
Drawing draw_side(const Rule& rule, const std::vector<TermId>& roots, const TermBank& bank, const Symbols& symbols,
                  const Types& types);

/// The shape of a node's output: "[m, n]", or nothing if the types leave it out.
std::string output_type(NodeId node, std::uint32_t output, const TermBank& bank, const Symbols& symbols,
                        const Types& types);

/// Parameters that are not at their default, and sizes: "axis=1, at=n".
std::string parameters_text(NodeId node, const TermBank& bank, const Symbols& symbols);

}  // namespace rulemill::algebra
