// A worker in a process of its own, limited in memory and time: a solver that hangs or grows is ended, and so is a
// helper that somebody kills; its task gets a second try with a fresh helper, then it fails with the reason.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "prove/farm/worker.h"
#include "runtime/subprocess.h"

namespace rulemill::prove {

/// Helpers that have loaded the definitions and have nothing to do: they stay from one stage of a run to the next,
/// which asks them under the same options.
class IdleHelpers {
 public:
  void put(std::unique_ptr<runtime::Subprocess> process) { processes_.push_back(std::move(process)); }
  /// Null if there is none.
  std::unique_ptr<runtime::Subprocess> take();

 private:
  std::vector<std::unique_ptr<runtime::Subprocess>> processes_;
};

struct WorkerProcessOptions {
  WorkerOptions worker;
  std::vector<std::string> command;            // starts a helper that serves; none: tasks are done in this process
  std::filesystem::path definitions;           // the folder from which the helper loads the same library
  unsigned helpers = 1;                        // of a rank
  std::uint64_t memory_bytes = 0;              // of each one's address space; 0: no limit
  std::chrono::milliseconds patience{60'000};  // processor time for one item of a task; see is_over
  std::shared_ptr<IdleHelpers> idle;           // where helpers come from and go to; null: they start, and end
};

class WorkerProcess {
 public:
  WorkerProcess(algebra::Library& library, const WorkerProcessOptions& options);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Changes of the rules, to be known before the next task.
  void change(const std::vector<std::string>& changes);
  /// Begins a task; one at a time.
  void start(const Task& task);
  /// Waits so long for its answer; nothing if there is none yet.
  std::optional<Answer> finish(std::chrono::microseconds wait);
  /// Ends the helper in the middle of its task, which gets no answer.
  void abandon();
  bool busy() const { return task_.has_value(); }
  /// Null while there is none.
  const runtime::Subprocess* process() const { return process_.get(); }
  /// How many helpers ended before their time, and were replaced.
  std::uint64_t restarts() const { return restarts_; }

 private:
  void begin();
  void spawn();
  void send(const std::string& frame);
  bool is_over();
  std::optional<Answer> after_end();

  algebra::Library& library_;
  WorkerProcessOptions options_;
  std::vector<std::string> changes_;  // all so far
  std::size_t told_ = 0;              // of these: known to the helper
  bool anew_ = false;                 // the helper still knows rules of another stage
  std::optional<Worker> local_;       // without a command
  std::unique_ptr<runtime::Subprocess> process_;
  std::optional<Task> task_;
  std::optional<Answer> answer_;        // of a task done in this process
  std::chrono::milliseconds limit_{0};  // of the task
  std::chrono::steady_clock::time_point looked_, deadline_;
  double had_at_begin_ = 0, had_at_look_ = 0;  // seconds of a processor
  bool second_try_ = false;
  std::uint64_t restarts_ = 0;
};

/// The helper's side: loads the definitions that it is told of and answers tasks until its parent ends.
void serve_tasks();

}  // namespace rulemill::prove
