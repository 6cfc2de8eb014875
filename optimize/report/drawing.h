// Drawings of a model's graph for the report: ONNX nodes, each with the shape of its result.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "optimize/onnx/import.h"
#include "runtime/text/json.h"

namespace rulemill::optimize {

struct Drawing {
  struct Constant {
    std::string name, shape;
    auto operator<=>(const Constant&) const = default;
  };
  struct Box {
    std::string name, label;            // of the ONNX node; its operator
    std::vector<std::uint32_t> inputs;  // numbers of boxes, drawn above this one
    std::vector<Constant> constants;    // inputs that are shown by their shapes only
    std::string shape;                  // of the result: "1×64×56×56"
    bool is_input = false;              // of the model
    bool changed = false;               // not in the other drawing
  };
  std::vector<Box> boxes;  // inputs before users
};

/// Draws the model's inputs and nodes, without constants.
Drawing draw_model(const ImportedModel& import, const GraphBank& bank);
/// Marks the nodes that are in one drawing only, or that have other constants in the other one.
void mark_differences(Drawing& before, Drawing& after);
/// Returns these boxes (in ascending order), marked as changed, with their neighbors.
Drawing excerpt(const Drawing& drawing, std::span<const std::uint32_t> boxes);
/// Returns the boxes and their connections as data of a page (`algebra/rules/drawing.h`).
runtime::Json to_json(const Drawing& drawing);

}  // namespace rulemill::optimize
