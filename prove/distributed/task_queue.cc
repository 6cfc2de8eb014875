#include "prove/distributed/task_queue.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rulemill::prove {
namespace {

/// A task has at most 1/tasks_per_worker of a worker's share of the items that are left.
constexpr double tasks_per_worker = 4;
/// Bounds the time until messages are answered again.
constexpr std::size_t look_ups_at_a_time = 64;

/// Returns how many items share a message. A proof has a time limit of its own.
std::size_t max_items(TaskKind kind) {
  constexpr std::size_t certificates = 8, checks = 16, derivations = 32;
  if (is_proof(kind) || kind == TaskKind::CheckAlone) return 1;
  if (kind == TaskKind::Certify || kind == TaskKind::CertifyRecord) return certificates;
  return kind == TaskKind::Check ? checks : derivations;
}

}  // namespace

TaskQueue::TaskQueue(const std::vector<Item>& items, std::size_t workers, LookUp look_up)
    : items_(items), workers_(workers), look_up_(std::move(look_up)), order_(items.size()) {
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::stable_sort(order_, {}, [&](std::size_t item) { return urgency(item); });
  for (const Item& item : items) unseen_cost_ += item.estimated_cost;
}

void TaskQueue::add(const Item& item) {
  unseen_cost_ += item.estimated_cost;
  items_.push_back(item);
  const auto unseen = order_.begin() + static_cast<std::ptrdiff_t>(next_);
  const auto place = std::ranges::upper_bound(unseen, order_.end(), urgency(items_.size() - 1), {},
                                              [&](std::size_t other) { return urgency(other); });
  order_.insert(place, items_.size() - 1);
}

/// The smaller, the earlier. Proofs come first: one may take as long as thousands of derivations.
std::tuple<bool, TaskKind, double> TaskQueue::urgency(std::size_t item) const {
  return {!is_proof(items_[item].kind), items_[item].kind, -items_[item].estimated_cost};
}

void TaskQueue::look_ahead(std::size_t enough) {
  for (std::size_t i = 0; i < look_ups_at_a_time && has_unseen() && queued_items_ < enough; ++i) look_up_next();
}

std::optional<QueuedTask> TaskQueue::pop() {
  for (std::size_t i = 0; i < look_ups_at_a_time && has_unseen() && ready_.empty(); ++i) look_up_next();
  if (ready_.empty()) close();
  if (ready_.empty()) return std::nullopt;
  QueuedTask task = std::move(ready_.front());
  ready_.pop_front();
  queued_items_ -= task.items.size();
  queued_cost_ -= task.task.estimated_cost;
  return task;
}

/// Looks up an item, and adds it to the open task if it has no answer yet.
void TaskQueue::look_up_next() {
  const std::size_t number = order_[next_++];
  const Item item = items_[number];  // look_up_ may add items
  const double left = unseen_cost_;
  unseen_cost_ -= item.estimated_cost;
  std::optional<std::string> text = look_up_(number);
  if (!text) return;
  Task& task = open_.task;
  if (!open_.items.empty() && (task.kind != item.kind || task.estimated_cost + item.estimated_cost > open_limit_))
    close();
  if (open_.items.empty()) {
    task.kind = item.kind;
    task.estimated_cost = 0;
    open_limit_ = left / (tasks_per_worker * static_cast<double>(workers_));
  }
  open_.items.push_back(number);
  task.items.push_back(std::move(*text));
  task.estimated_cost += item.estimated_cost;
  queued_cost_ += item.estimated_cost;
  ++queued_items_;
  if (open_.items.size() == max_items(item.kind)) close();
}

/// Makes the open task ready, if it has items.
void TaskQueue::close() {
  if (!open_.items.empty()) ready_.push_back(std::exchange(open_, {}));
}

}  // namespace rulemill::prove
