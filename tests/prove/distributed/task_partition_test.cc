// How items are combined into tasks.
#include "prove/distributed/task_partition.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

using namespace rulemill::prove;

namespace {

std::vector<WorkItem> items_of(TaskKind kind, std::size_t count) {
  return std::vector<WorkItem>(count, WorkItem{kind, "goal"});
}

std::vector<std::size_t> sizes_of(const std::vector<TaskItems>& tasks) {
  std::vector<std::size_t> sizes;
  for (const TaskItems& task : tasks) sizes.push_back(task.items.size());
  return sizes;
}

}  // namespace

TEST_CASE("Every item is in one task, and the items of a task are of one kind") {
  std::vector<WorkItem> items;
  for (std::size_t i = 0; i < 200; ++i) {
    const TaskKind kind = i % 3 == 0 ? TaskKind::Derive : i % 3 == 1 ? TaskKind::Certify : TaskKind::Prove;
    items.push_back({kind, "goal", static_cast<double>(i % 7)});
  }
  std::set<std::size_t> seen;
  for (const TaskItems& task : partition(items, 3)) {
    double cost = 0;
    for (const std::size_t item : task.items) {
      CHECK(seen.insert(item).second);
      CHECK(items[item].kind == items[task.items[0]].kind);
      cost += items[item].estimated_cost;
    }
    CHECK(task.estimated_cost == cost);
  }
  CHECK(seen.size() == items.size());
  CHECK(partition({}, 3).empty());
}

TEST_CASE("Tasks become smaller towards the end, down to single items") {
  const std::vector<std::size_t> sizes = sizes_of(partition(items_of(TaskKind::Derive, 1000), 4));
  CHECK(sizes.front() == 32);
  CHECK(sizes.back() == 1);
  CHECK(std::ranges::is_sorted(sizes, std::greater()));
}

TEST_CASE("As many items as workers are tasks of their own") {
  CHECK(sizes_of(partition(items_of(TaskKind::Derive, 64), 64)) == std::vector<std::size_t>(64, 1));
}

TEST_CASE("Each proof is a task of its own, expensive ones first") {
  std::vector<WorkItem> items = items_of(TaskKind::Prove, 3);
  items[1].estimated_cost = 9;
  items[2].estimated_cost = 4;
  std::vector<std::size_t> order;
  for (const TaskItems& task : partition(items, 1)) {
    REQUIRE(task.items.size() == 1);
    order.push_back(task.items[0]);
  }
  CHECK(order == std::vector<std::size_t>{1, 2, 0});
}
