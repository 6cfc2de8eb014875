#include "prove/distributed/worker_pool.h"

#include <algorithm>

#include "runtime/text/error.h"

namespace rulemill::prove {

namespace {

constexpr std::chrono::microseconds poll_once{0};
constexpr double start_seconds = 0.03;
constexpr std::size_t many_items = 32;

}  // namespace

WorkerPool::WorkerPool(algebra::Library& library, const WorkerProcessOptions& options) {
  const unsigned count = options.command.empty() ? 1 : std::max(1U, options.workers);
  for (unsigned i = 0; i < count; ++i) workers_.push_back(std::make_unique<Slot>(library, options));
}

void WorkerPool::update_rules(const std::vector<std::string>& updates) {
  for (const auto& slot : workers_) slot->process.update_rules(updates);
}

bool WorkerPool::has_idle(std::size_t queued_items) const {
  bool any_busy = false, any_not_started = false;
  for (const auto& slot : workers_) {
    const bool busy = slot->process.is_busy();
    if (!busy && slot->process.process() != nullptr) return true;
    (busy ? any_busy : any_not_started) = true;
  }
  if (!any_busy || !any_not_started) return any_not_started;
  return queued_items >= many_items || busy_watch_.seconds() >= start_seconds;
}

bool WorkerPool::is_busy() const {
  return std::ranges::any_of(workers_, [](const auto& slot) { return slot->process.is_busy(); });
}

void WorkerPool::start(std::size_t number, const Task& task) {
  if (!is_busy()) busy_watch_ = runtime::Stopwatch();
  const auto is_idle = [](const auto& slot) { return !slot->process.is_busy(); };
  auto idle = std::ranges::find_if(
      workers_, [&](const auto& slot) { return is_idle(slot) && slot->process.process() != nullptr; });
  if (idle == workers_.end()) idle = std::ranges::find_if(workers_, is_idle);
  RM_CHECK(idle != workers_.end(), "a worker is idle");
  (*idle)->task = number;
  (*idle)->process.start(task);
}

std::vector<WorkerPool::FinishedTask> WorkerPool::poll(std::chrono::microseconds timeout) {
  std::vector<FinishedTask> finished;
  for (const auto& slot : workers_) {
    if (!slot->process.is_busy()) continue;
    if (auto answer = slot->process.wait_for_answer(timeout)) finished.push_back({slot->task, std::move(*answer)});
  }
  return finished;
}

std::vector<WorkerPool::FinishedTask> WorkerPool::wait_for_answers(std::chrono::microseconds timeout) {
  const auto busy_workers = std::ranges::count_if(workers_, [](const auto& slot) { return slot->process.is_busy(); });
  if (busy_workers == 1) return poll(timeout);
  std::vector<FinishedTask> finished = poll(poll_once);
  if (!finished.empty() || busy_workers == 0 || timeout == poll_once) return finished;
  std::vector<const runtime::Subprocess*> processes;
  for (const auto& slot : workers_) {
    if (slot->process.is_busy()) processes.push_back(slot->process.process());
  }
  runtime::Subprocess::wait_for_any(processes, timeout);
  return poll(poll_once);
}

void WorkerPool::abandon() {
  for (const auto& slot : workers_) {
    if (slot->process.is_busy()) slot->process.abandon();
  }
}

std::uint64_t WorkerPool::restarts() const {
  std::uint64_t total = 0;
  for (const auto& slot : workers_) total += slot->process.restarts();
  return total;
}

}  // namespace rulemill::prove
