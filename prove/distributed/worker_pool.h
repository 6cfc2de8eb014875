// The worker processes of one rank, which run tasks concurrently.
#pragma once

#include <memory>
#include <vector>

#include "prove/distributed/worker_process.h"
#include "runtime/process/stopwatch.h"

namespace rulemill::prove {

class WorkerPool {
 public:
  struct FinishedTask {
    std::size_t number;  // as in start()
    Answer answer;
  };

  /// Creates `options.workers` workers, or a single one if tasks run in this process.
  WorkerPool(algebra::Library& library, const WorkerProcessOptions& options);

  std::size_t size() const { return workers_.size(); }
  /// Adds updates of the rules, which the workers receive before their next tasks.
  void update_rules(const std::vector<std::string>& updates);
  /// Returns whether a worker may start a task while this many items are queued. A process is started only for many
  /// items, or if the other workers have been busy for about the time that starting takes; it does not pay for a few
  /// short tasks.
  bool has_idle(std::size_t queued_items) const;
  bool is_busy() const;
  /// Starts the task on an idle worker.
  void start(std::size_t number, const Task& task);
  /// Returns finished tasks; waits for the first one until the timeout.
  std::vector<FinishedTask> wait_for_answers(std::chrono::microseconds timeout);
  /// Kills the busy processes and drops their tasks.
  void abandon();
  /// Returns how many processes ended early and were replaced.
  std::uint64_t restarts() const;

 private:
  struct Slot {
    Slot(algebra::Library& library, const WorkerProcessOptions& options) : process(library, options) {}
    WorkerProcess process;
    std::size_t task = 0;
  };
  std::vector<FinishedTask> poll(std::chrono::microseconds timeout);

  std::vector<std::unique_ptr<Slot>> workers_;
  runtime::Stopwatch busy_watch_;  // restarted when a worker gets a task while all are idle
};

}  // namespace rulemill::prove
