#include "prove/distributed/task_partition.h"

#include <algorithm>
#include <numeric>

namespace rulemill::prove {
namespace {

/// A task has at most 1/tasks_per_worker of a worker's share of the items that are left.
constexpr double tasks_per_worker = 4;

/// Returns how many items share a message. A proof has a time limit of its own.
std::size_t max_items(TaskKind kind) {
  constexpr std::size_t certificates = 8, derivations = 32;
  if (is_proof(kind)) return 1;
  return kind == TaskKind::Certify ? certificates : derivations;
}

}  // namespace

std::vector<TaskItems> partition(const std::vector<WorkItem>& items, std::size_t workers) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return items[a].kind != items[b].kind ? items[a].kind < items[b].kind
                                          : items[a].estimated_cost > items[b].estimated_cost;
  });
  double remaining = 0;
  for (const WorkItem& item : items) remaining += item.estimated_cost;
  std::vector<TaskItems> tasks;
  for (std::size_t next = 0; next < order.size();) {
    const TaskKind kind = items[order[next]].kind;
    const double share = remaining / (tasks_per_worker * static_cast<double>(workers));
    TaskItems& task = tasks.emplace_back();
    do {
      task.items.push_back(order[next]);
      task.estimated_cost += items[order[next]].estimated_cost;
      ++next;
    } while (next < order.size() && items[order[next]].kind == kind && task.items.size() < max_items(kind) &&
             task.estimated_cost + items[order[next]].estimated_cost <= share);
    remaining -= task.estimated_cost;
  }
  return tasks;
}

}  // namespace rulemill::prove
