// A model's graph as a picture for the report: ONNX nodes in layers, drawn as SVG, each with the shape of what it
// gives.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "optimize/onnx/import.h"

namespace rulemill::optimize {

struct Drawing {
  struct Constant {
    std::string name, shape;
    auto operator<=>(const Constant&) const = default;
  };
  struct Box {
    std::string name, label;            // of the ONNX node; its operator
    std::vector<std::uint32_t> inputs;  // boxes drawn above it, by number
    std::vector<Constant> constants;    // that it takes as well, shown by their shapes
    std::string shape;                  // of what it gives: "1×64×56×56"
    bool is_input = false;              // of the model
    bool only_here = false;             // not in the other drawing
  };
  std::vector<Box> boxes;  // inputs before users
};

/// The model's inputs and nodes; constants are left out.
Drawing drawing_of(const Import& import, const GraphBank& bank);
/// Marks the nodes that one of the two alone has, or that take other constants there.
void mark_differences(Drawing& before, Drawing& after);
/// These boxes (in ascending order), and, not marked, what they take and who takes what they give.
Drawing part_of(const Drawing& drawing, std::span<const std::uint32_t> boxes);
/// An <svg> element, layers from top to bottom.
std::string to_svg(const Drawing& drawing);
/// The text with what HTML gives a meaning to escaped.
std::string html_escaped(const std::string& text);

}  // namespace rulemill::optimize
