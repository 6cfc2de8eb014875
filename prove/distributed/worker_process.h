// A worker in a child process with memory and time limits, so that a solver that hangs or grows can be killed. If the
// process is killed or ends early, its task is run once more in a new process; then it fails with the reason.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "prove/tasks/worker.h"
#include "runtime/process/stopwatch.h"
#include "runtime/process/subprocess.h"

namespace rulemill::prove {

/// Idle worker processes that have loaded the definitions. They are kept from one stage of a run to the next, which
/// must use the same options.
class IdleWorkers {
 public:
  void put(std::unique_ptr<runtime::Subprocess> process) { processes_.push_back(std::move(process)); }
  /// Returns null if there is none.
  std::unique_ptr<runtime::Subprocess> take();

 private:
  std::vector<std::unique_ptr<runtime::Subprocess>> processes_;
};

struct WorkerProcessOptions {
  WorkerOptions worker;
  std::vector<std::string> command;           // starts a worker process; empty: tasks run in this process
  std::filesystem::path definitions;          // the folder from which a worker process loads the same library
  unsigned workers = 1;                       // per rank
  std::uint64_t memory_bytes = 0;             // address space of a worker process; 0: no limit
  std::chrono::milliseconds timeout{60'000};  // processor time per item of a task
  std::shared_ptr<IdleWorkers> idle_workers;  // reused worker processes; null: none are reused
};

class WorkerProcess {
 public:
  WorkerProcess(algebra::Library& library, const WorkerProcessOptions& options);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Adds updates of the rules, which the process receives before its next task.
  void update_rules(const std::vector<std::string>& updates);
  /// Starts a task; one at a time.
  void start(const Task& task);
  /// Waits for the answer; none at the timeout.
  std::optional<Answer> wait_for_answer(std::chrono::microseconds timeout);
  /// Kills the process and drops its task.
  void abandon();
  bool is_busy() const { return task_.has_value(); }
  /// Returns null if no process was started.
  const runtime::Subprocess* process() const { return process_.get(); }
  /// Returns how many processes ended early and were replaced.
  std::uint64_t restarts() const { return restarts_; }

 private:
  void begin();
  void spawn();
  /// Returns the process's first frame, once it has loaded the definitions; nothing if it ended before.
  std::optional<runtime::Bytes> start_process();
  bool is_out_of_time();
  std::optional<Answer> retry_or_fail();

  algebra::Library& library_;
  WorkerProcessOptions options_;
  std::vector<std::string> updates_;  // all so far
  std::size_t updates_sent_ = 0;
  bool must_reset_ = false;      // the process still has the rules of another stage
  std::optional<Worker> local_;  // without a command
  std::unique_ptr<runtime::Subprocess> process_;
  std::optional<Task> task_;
  std::optional<Answer> answer_;        // of a task run in this process
  std::chrono::milliseconds limit_{0};  // of the task
  std::chrono::steady_clock::time_point last_check_, deadline_;
  double processor_seconds_at_begin_ = 0, processor_seconds_at_check_ = 0;
  bool is_second_try_ = false;
  std::uint64_t restarts_ = 0;
};

/// The main loop of a worker process: loads the definitions and answers tasks until the parent process ends.
void serve_tasks();

/// The worker processes of one rank, which run tasks concurrently.
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
