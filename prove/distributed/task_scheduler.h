// The scheduler of proof tasks. The first rank assigns tasks, expensive ones first, and every rank (also the first one)
// runs them in its worker processes. Answers are returned in the order of the tasks, so that results do not depend on
// the number of ranks.
#pragma once

#include <functional>
#include <map>

#include "prove/cache/answer_cache.h"
#include "prove/distributed/worker_pool.h"
#include "runtime/files/journal.h"
#include "runtime/mpi/communicator.h"
#include "runtime/process/progress.h"
#include "runtime/text/hash.h"

namespace rulemill::prove {

/// What one rank did.
struct RankStatistics {
  std::uint64_t tasks = 0, items = 0, restarts = 0;
  TaskStatistics work;
  double idle_seconds = 0;  // of all its workers
};

class TaskScheduler {
 public:
  using OnAnswer = std::function<void(std::size_t task, const Answer&)>;

  /// `stage` occurs in messages.
  TaskScheduler(const runtime::Communicator& communicator, algebra::Library& library,
                const WorkerProcessOptions& options, std::string stage = "proofs");

  /// Collective. The first rank runs `manage`, which may call the members below; the other ranks run its tasks until it
  /// returns. If a rank is interrupted, all ranks abandon their tasks and throw Interrupted.
  void run_collective(const std::function<void()>& manage);

  /// Updates the rules that workers know for the tasks that follow.
  void update_rules(const std::vector<std::string>& updates);
  /// Enables the journal of this run: tasks with a journaled answer are not run; new answers are added.
  void use_journal(runtime::Journal& journal);
  /// Enables the cache: cached items are not scheduled; new answers are stored.
  void use_cache(AnswerCache& cache);
  /// Enables progress messages of long calls of run_items().
  void show_progress(runtime::ProgressMode mode) { progress_ = mode; }

  /// Returns the answers to all tasks, in order. Calls `on_answer` as soon as a task has been run; not for tasks whose
  /// answers are all in the journal or the cache. Throws Interrupted.
  std::vector<Answer> run_tasks(const std::vector<Task>& tasks, const OnAnswer& on_answer = {});
  /// Returns the answers to all items, in order. `failed` returns the answer to an item of a failed task from the
  /// reason; without it, a failure throws Error.
  std::vector<std::string> run_items(TaskKind kind, const std::vector<std::string>& items, std::size_t items_per_task,
                                     const std::function<std::string(const std::string& reason)>& failed = {});

  /// Returns the number of failed tasks, on the first rank.
  std::uint64_t failures() const { return failures_; }
  /// Returns the statistics by rank, on the first rank; complete after run_collective().
  const std::vector<RankStatistics>& rank_statistics() const { return rank_statistics_; }

 private:
  struct Dispatcher;
  struct PendingTask;
  std::optional<PendingTask> find_unknown_items(const Task& task, Answer& answer) const;
  std::string journal_key(const Task& task) const;
  void serve();
  std::vector<Answer> run_until_interrupted(const std::vector<Task>& tasks);
  void end_service(bool interrupted);
  std::vector<std::string> pending_updates(int rank);
  void count_answer(int rank, const Answer& answer);

  const runtime::Communicator& communicator_;
  WorkerPool pool_;
  std::string stage_;
  runtime::ProgressMode progress_ = runtime::ProgressMode::Off;
  runtime::Journal* journal_ = nullptr;
  std::map<std::string, std::string> journaled_;  // packed answers by journal_key
  AnswerCache* cache_ = nullptr;
  std::vector<std::string> updates_;
  runtime::Hasher updates_hash_;
  std::vector<std::size_t> updates_sent_;  // by rank
  std::vector<RankStatistics> rank_statistics_;
  std::uint64_t failures_ = 0;
  double seconds_ = 0;  // in run_collective()
};

}  // namespace rulemill::prove
