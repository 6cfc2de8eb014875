// Combines items into tasks, expensive items first. Tasks become smaller towards the end, so that all workers finish at
// about the same time. Items are looked up when their turn comes, while workers answer earlier ones.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "prove/tasks/task.h"

namespace rulemill::prove {

/// A task with the numbers of its items, which are of one kind.
struct QueuedTask {
  Task task;
  std::vector<std::size_t> items;
};

class TaskQueue {
 public:
  /// The kind and the cost of an item, known before it is made.
  struct Item {
    TaskKind kind = TaskKind::Derive;
    double estimated_cost = 1;  // relative to the others
  };
  /// Returns the text of an item for a worker; nothing if the item has its answer already.
  using LookUp = std::function<std::optional<std::string>(std::size_t item)>;

  /// Tasks depend on the number of workers; answers to the items do not.
  TaskQueue(const std::vector<Item>& items, std::size_t workers, LookUp look_up);
  /// Adds an item, which gets the next number.
  void add(const Item& item);

  /// Looks up some items, unless `enough` of them wait in tasks.
  void look_ahead(std::size_t enough);
  /// Takes the next task. There may be none although items are left: then some of them were looked up.
  std::optional<QueuedTask> pop();

  /// True if no more tasks will come.
  bool is_empty() const { return next_ == order_.size() && ready_.empty() && open_.items.empty(); }
  /// Returns whether there are items that were not looked up.
  bool has_unseen() const { return next_ < order_.size(); }
  /// Returns the number of items in tasks.
  std::size_t queued_items() const { return queued_items_; }
  /// Returns the estimated cost of all items that are left, in tasks or not looked up.
  double remaining_cost() const { return unseen_cost_ + queued_cost_; }

 private:
  std::tuple<bool, TaskKind, double> urgency(std::size_t item) const;
  void look_up_next();
  void close();

  std::vector<Item> items_;
  std::size_t workers_;
  LookUp look_up_;
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;  // in order_
  QueuedTask open_;       // the task that is being filled
  double open_limit_ = 0;
  std::deque<QueuedTask> ready_;
  std::size_t queued_items_ = 0;
  double unseen_cost_ = 0, queued_cost_ = 0;
};

}  // namespace rulemill::prove
