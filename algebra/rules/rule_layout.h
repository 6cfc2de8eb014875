// The layout of one side of a rule: inputs at the top, outputs at the bottom, every operator below its arguments. Units
// are pixels. Equal rules give equal drawings.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

struct DrawnNode {
  enum class Kind : std::uint8_t { Input, Operator, Output } kind = Kind::Operator;
  std::string label;   // the name of the input or operator
  std::string detail;  // an input's shape, an operator's parameters and sizes; empty for outputs
  std::string type;    // the shapes of its outputs, if known
  int x = 0, y = 0;    // centre
  int width = 0, height = 0;
};

struct DrawnEdge {
  std::size_t from = 0, to = 0;
  std::string label;  // the output's name, if there are several
};

struct Drawing {
  std::vector<DrawnNode> nodes;
  std::vector<DrawnEdge> edges;
  int width = 0, height = 0;
};

using Types = std::unordered_map<TermId, Shape>;

/// Lays out one side. Terms that are not in `types` are drawn without type.
Drawing draw_side(const Rule& rule, const std::vector<TermId>& roots, const TermBank& bank, const Symbols& symbols,
                  const Types& types);

/// The shape of a node's output: "[m, n]", or "" if it is not in `types`.
std::string output_type(NodeId node, std::uint32_t output, const TermBank& bank, const Symbols& symbols,
                        const Types& types);

/// The parameters that are not at their default, and the sizes: "axis=1, at=n".
std::string parameters_text(NodeId node, const TermBank& bank, const Symbols& symbols);

/// The number of columns of UTF-8 text in a terminal or fixed-pitch font.
std::size_t display_width(const std::string& text);

}  // namespace rulemill::algebra
