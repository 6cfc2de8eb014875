// A model's graph as a picture for the report: ONNX nodes in layers, drawn as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "optimize/onnx/import.h"

namespace rulemill::optimize {

struct Drawing {
  struct Box {
    std::string name, label;            // of the ONNX node; its operator
    std::vector<std::uint32_t> inputs;  // boxes drawn above it, by number
    bool only_here = false;             // not in the other drawing
  };
  std::vector<Box> boxes;  // inputs before users
};

/// The model's inputs and nodes; constants are left out.
Drawing drawing_of(const Import& import, const GraphBank& bank);
/// Marks the nodes that one of the two alone has.
void mark_differences(Drawing& before, Drawing& after);
/// An <svg> element, layers from top to bottom.
std::string to_svg(const Drawing& drawing);
/// The text with what HTML gives a meaning to escaped.
std::string html_escaped(const std::string& text);

}  // namespace rulemill::optimize
