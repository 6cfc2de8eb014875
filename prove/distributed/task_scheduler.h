// The scheduler of proof tasks. The first rank combines items into tasks and assigns them, expensive ones first, and
// every rank (also the first one) runs them in its worker processes. Answers are returned in the order of the items, so
// that results do not depend on the number of ranks.
#pragma once

#include <functional>
#include <map>

#include "prove/cache/answer_cache.h"
#include "prove/distributed/worker_process.h"
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
  /// `stage` occurs in messages.
  TaskScheduler(const runtime::Communicator& communicator, algebra::Library& library,
                const WorkerProcessOptions& options, std::string stage = "proofs");

  /// Collective. The first rank runs `manage`, which may call the members below; the other ranks run its tasks until it
  /// returns. If a rank is interrupted, all ranks abandon their tasks and throw Interrupted.
  void run_collective(const std::function<void()>& manage);

  /// Updates the rules that workers know for the tasks that follow.
  void update_rules(const std::vector<std::string>& updates);
  /// Enables the journal of this run: items with a journaled answer are not scheduled; new answers are added.
  void use_journal(runtime::Journal& journal);
  /// Enables the cache: cached items are not scheduled; new answers are stored.
  void use_cache(AnswerCache& cache);
  /// Enables progress messages of long calls of answer_items().
  void show_progress(runtime::ProgressMode mode) { progress_ = mode; }

  /// Returns the answer to an item of a failed task from the reason.
  using Failed = std::function<std::string(const std::string& reason)>;
  /// Items of one kind, with what to do with their answers.
  struct Items {
    TaskKind kind = TaskKind::Derive;
    std::size_t count = 0;
    std::function<std::string(std::size_t item)> text;               // called while earlier items are answered
    std::function<void(std::size_t item, std::string answer)> take;  // called in the order in which answers come
    Failed failed;                                                   // without it, a failure throws Error
  };
  /// Answers all items. Neither items nor answers are all in memory at the same time. Throws Interrupted.
  void answer_each(const Items& items);
  /// Returns the answers to all items of a kind, in order.
  std::vector<std::string> answer_items(TaskKind kind, const std::vector<std::string>& items,
                                        const Failed& failed = {});

  /// The answer to an item, or the reason why its task failed.
  struct ItemAnswer {
    std::string text;
    std::string failure;  // empty if there was none
  };
  /// Returns the answers to all items, in order.
  std::vector<ItemAnswer> answer_items(const std::vector<WorkItem>& items);
  /// Gets the answer to an item. May return another one, which is answered in its place: without waiting for the rest.
  using Next = std::function<std::optional<WorkItem>(std::size_t item, ItemAnswer answer)>;
  /// Answers all items in the order in which answers come.
  void answer_chains(std::vector<WorkItem> items, const Next& next);

  /// Returns the number of failed tasks, on the first rank.
  std::uint64_t failures() const { return failures_; }
  /// Returns the statistics by rank, on the first rank; complete after run_collective().
  const std::vector<RankStatistics>& rank_statistics() const { return rank_statistics_; }

 private:
  class Batch;
  struct Dispatcher;
  std::string journal_key(TaskKind kind, const std::string& item) const;
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
  std::map<std::string, runtime::Journal::Location> journaled_;  // of answers, by journal_key
  AnswerCache* cache_ = nullptr;
  std::vector<std::string> updates_;
  runtime::Hasher updates_hash_;
  std::vector<std::size_t> updates_sent_;  // by rank
  std::vector<RankStatistics> rank_statistics_;
  std::uint64_t failures_ = 0;
  double seconds_ = 0;  // in run_collective()
};

}  // namespace rulemill::prove
