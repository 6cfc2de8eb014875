// What changed between two drawings of a model, in parts that hang together; parts that look the same, whatever their
// sizes, are one kind. And the model from top to bottom in a few lines: what repeats is said once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "optimize/drawing.h"

namespace rulemill::optimize {

struct Change {
  std::vector<std::uint32_t> before, after;  // boxes of each drawing, ascending; one of the two may be empty
};

struct ChangeKind {
  Drawing before, after;        // of the first, with its neighbours
  std::vector<Change> changes;  // in the order of the model
};

/// Both drawings must have their differences marked.
std::vector<ChangeKind> changes_between(const Drawing& before, const Drawing& after);

/// A stretch of the model, `times` in a row: words for nodes that stayed ("Conv", "3 × Relu") and numbers of kinds.
struct Stretch {
  struct Part {
    std::string words;
    int kind = -1;  // of a change
    bool operator==(const Part&) const = default;
  };
  std::size_t times = 1;
  std::vector<Part> parts;
};

/// The model before, its inputs left out.
std::vector<Stretch> outline_of(const Drawing& before, const std::vector<ChangeKind>& kinds);

}  // namespace rulemill::optimize
