// How items are combined into tasks.
#include "prove/distributed/task_queue.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

using namespace rulemill::prove;

namespace {

using Items = std::vector<TaskQueue::Item>;

std::optional<std::string> text_of(std::size_t item) { return std::to_string(item); }

std::vector<QueuedTask> tasks_of(const Items& items, std::size_t workers, const TaskQueue::LookUp& look_up = text_of) {
  TaskQueue queue(items, workers, look_up);
  std::vector<QueuedTask> tasks;
  while (!queue.is_empty()) {
    if (auto task = queue.pop()) tasks.push_back(std::move(*task));
  }
  CHECK(queue.queued_items() == 0);
  CHECK_FALSE(queue.has_unseen());
  CHECK(queue.remaining_cost() == Approx(0).margin(1e-9));
  return tasks;
}

std::vector<std::size_t> sizes_of(const std::vector<QueuedTask>& tasks) {
  std::vector<std::size_t> sizes;
  for (const QueuedTask& task : tasks) sizes.push_back(task.items.size());
  return sizes;
}

}  // namespace

TEST_CASE("Every item is in one task, and the items of a task are of one kind") {
  Items items;
  for (std::size_t i = 0; i < 200; ++i) {
    const TaskKind kind = i % 3 == 0 ? TaskKind::Derive : i % 3 == 1 ? TaskKind::Certify : TaskKind::Prove;
    items.push_back({kind, static_cast<double>(i % 7)});
  }
  std::set<std::size_t> seen;
  for (const QueuedTask& task : tasks_of(items, 3)) {
    double cost = 0;
    REQUIRE(task.items.size() == task.task.items.size());
    for (std::size_t i = 0; i < task.items.size(); ++i) {
      CHECK(seen.insert(task.items[i]).second);
      CHECK(task.task.items[i] == std::to_string(task.items[i]));
      CHECK(items[task.items[i]].kind == task.task.kind);
      cost += items[task.items[i]].estimated_cost;
    }
    CHECK(task.task.estimated_cost == cost);
  }
  CHECK(seen.size() == items.size());
  CHECK(tasks_of({}, 3).empty());
}

TEST_CASE("Tasks become smaller towards the end, down to single items") {
  const std::vector<std::size_t> sizes = sizes_of(tasks_of(Items(1000), 4));
  CHECK(sizes.front() == 32);
  CHECK(sizes.back() == 1);
  CHECK(std::ranges::is_sorted(sizes, std::greater()));
}

TEST_CASE("As many items as workers are tasks of their own") {
  CHECK(sizes_of(tasks_of(Items(64), 64)) == std::vector<std::size_t>(64, 1));
}

TEST_CASE("Each proof is a task of its own, expensive ones first") {
  std::vector<std::size_t> order;
  for (const QueuedTask& task : tasks_of({{TaskKind::Prove, 1}, {TaskKind::Prove, 9}, {TaskKind::Prove, 4}}, 1)) {
    REQUIRE(task.items.size() == 1);
    order.push_back(task.items[0]);
  }
  CHECK(order == std::vector<std::size_t>{1, 2, 0});
}

TEST_CASE("Items with an answer are in no task") {
  const auto every_tenth = [](std::size_t item) { return item % 10 == 0 ? text_of(item) : std::nullopt; };
  std::set<std::size_t> seen;
  for (const QueuedTask& task : tasks_of(Items(1000), 2, every_tenth))
    seen.insert(task.items.begin(), task.items.end());
  CHECK(seen.size() == 100);
  CHECK(std::ranges::all_of(seen, [](std::size_t item) { return item % 10 == 0; }));
  CHECK(tasks_of(Items(1000), 2, [](std::size_t) { return std::nullopt; }).empty());
}

TEST_CASE("Items are looked up in turn, some ahead of the workers") {
  std::size_t looked_up = 0;
  TaskQueue queue(Items(1000), 2, [&](std::size_t item) {
    ++looked_up;
    return text_of(item);
  });
  queue.look_ahead(40);
  CHECK(looked_up == 40);
  CHECK(queue.queued_items() == 40);
  CHECK(queue.remaining_cost() == 1000);
  queue.look_ahead(40);
  CHECK(looked_up == 40);
  REQUIRE(queue.pop());
  CHECK(queue.queued_items() == 8);
  REQUIRE(queue.pop());
  CHECK(looked_up > 60);
}

TEST_CASE("An item that is added while others are answered comes before them if it is a proof, expensive ones first") {
  TaskQueue queue(Items(500), 4, text_of);
  std::vector<std::size_t> items = queue.pop()->items;
  for (const double cost : {2.0, 3.0}) queue.add({TaskKind::Prove, cost});
  queue.add({TaskKind::Derive, 0.5});
  std::vector<std::size_t> proofs;
  while (!queue.is_empty()) {
    const auto task = queue.pop();
    if (!task) continue;
    if (task->task.kind == TaskKind::Prove) {
      CHECK(items.size() < 400);
      proofs.insert(proofs.end(), task->items.begin(), task->items.end());
    }
    items.insert(items.end(), task->items.begin(), task->items.end());
  }
  CHECK(proofs == std::vector<std::size_t>{501, 500});
  CHECK(items.size() == 503);
  CHECK(items.back() == 502);
}
