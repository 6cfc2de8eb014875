// Manager and workers: the first rank hands out tasks, hardest first, every rank (the first one, too) works on them in
// its helper processes. Answers come in the tasks' order whoever gave them, so that results do not depend on the ranks.
#pragma once

#include <functional>
#include <map>
#include <span>

#include "prove/farm/answer_store.h"
#include "prove/farm/team.h"
#include "runtime/communicator.h"
#include "runtime/hash.h"
#include "runtime/journal.h"
#include "runtime/progress.h"

namespace rulemill::prove {

/// What one rank has done.
struct RankFigures {
  std::uint64_t tasks = 0, items = 0, restarts = 0;
  Effort effort;
  double idle = 0;  // seconds in which its helpers had nothing to do, all together
};

class Crew {
 public:
  /// `stage`: what is said to have stopped.
  Crew(const runtime::Communicator& communicator, algebra::Library& library, const WorkerProcessOptions& options,
       std::string stage = "proofs");

  /// Collective: the first rank runs `manage`, which may call the members below; the others work for it until it is
  /// over. All throw Interrupted if one of them is told to stop, and leave the tasks that they are at.
  void work(const std::function<void()>& manage);

  /// Changes of the rules that workers know, before the next tasks.
  void change(const std::vector<std::string>& changes);
  /// From now on run_each() asks only what the journal does not answer, and adds what it hears: an answer depends on
  /// the task and the rules alone.
  void remember(runtime::Journal& journal);
  /// From now on long runs of run_each() show how far they are.
  void show(runtime::ProgressMode mode) { progress_ = mode; }
  /// From now on nobody is asked what the store answers, and it keeps what is heard.
  void keep(AnswerStore& store);
  /// All answers, in the tasks' order. `done` is told of each that is asked, as soon as it is there; what the store
  /// knows, it knows another time, too. Throws Interrupted.
  std::vector<Answer> run(const std::vector<Task>& tasks,
                          const std::function<void(std::size_t, const Answer&)>& done = {});
  /// What an answer depends on: the task, and the changes so far.
  std::string journal_key(const Task& task) const;
  /// One item a task: the answers' items. `failed` says what stands for one without an answer; without it, that throws
  /// Error.
  std::vector<std::string> run_each(TaskKind kind, const std::vector<std::string>& items, std::size_t block,
                                    const std::function<std::string(const std::string& reason)>& failed = {});

  /// Tasks that have got no answer, on the first rank.
  std::uint64_t failures() const { return failures_; }
  /// By rank, on the first one; complete once work() is over.
  const std::vector<RankFigures>& figures() const { return figures_; }

 private:
  struct Round;  // one call of run()
  void serve();
  std::vector<Answer> answers_unless_stopped(const std::vector<Task>& tasks);
  void end_service(bool interrupted);
  std::vector<std::string> news_for(int rank);
  void credit(int rank, const Answer& answer);

  const runtime::Communicator& communicator_;
  Team team_;
  std::string stage_;
  runtime::ProgressMode progress_ = runtime::ProgressMode::Off;
  runtime::Journal* journal_ = nullptr;
  AnswerStore* store_ = nullptr;
  std::map<std::string, std::string> remembered_;  // the journal's answers
  runtime::Hasher changes_hash_;
  std::vector<std::string> changes_;
  std::vector<std::size_t> told_;  // by rank: how many of the changes it knows
  std::vector<RankFigures> figures_;
  std::uint64_t failures_ = 0;
  double seconds_ = 0;  // in work()
};

}  // namespace rulemill::prove
