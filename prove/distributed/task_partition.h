// Combines items into tasks, expensive items first. Tasks become smaller towards the end, so that all workers finish at
// about the same time.
#pragma once

#include <cstddef>
#include <vector>

#include "prove/tasks/task.h"

namespace rulemill::prove {

/// The numbers of the items of a task, which are of one kind.
struct TaskItems {
  std::vector<std::size_t> items;
  double estimated_cost = 0;
};

/// Returns tasks that have each of the items once. Depends on the number of workers; answers to the items do not.
std::vector<TaskItems> partition(const std::vector<WorkItem>& items, std::size_t workers);

}  // namespace rulemill::prove
