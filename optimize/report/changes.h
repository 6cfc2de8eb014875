// The changes between two drawings of a model, as connected components. Components that look the same except for sizes
// form a group. And an outline of the model in which repeated parts appear once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "optimize/report/drawing.h"

namespace rulemill::optimize {

struct Change {
  std::vector<std::uint32_t> before, after;  // boxes of each drawing, ascending; one of the two may be empty
};

/// Changes that look the same.
struct ChangeGroup {
  Drawing before, after;        // of the first change, with its neighbors
  std::vector<Change> changes;  // in the order of the model
};

/// The differences of the drawings must be marked.
std::vector<ChangeGroup> changes_between(const Drawing& before, const Drawing& after);

/// A part of the model that is repeated `times` times: unchanged nodes as text ("Conv", "3 × Relu"), and change groups.
struct Stretch {
  struct Item {
    std::string text;
    int group = -1;  // index of the change group
    bool operator==(const Item&) const = default;
  };
  std::size_t times = 1;
  std::vector<Item> items;
};

/// Returns the outline of the model before the changes, without its inputs.
std::vector<Stretch> outline_of(const Drawing& before, const std::vector<ChangeGroup>& groups);

}  // namespace rulemill::optimize
