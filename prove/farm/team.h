// The helpers of one rank: each is at one task at a time, all of them at once.
#pragma once

#include <memory>
#include <vector>

#include "prove/farm/worker_process.h"

namespace rulemill::prove {

class Team {
 public:
  struct Done {
    std::size_t task;  // as start() was told
    Answer answer;
  };

  /// `options.helpers` of them; a single one where tasks are done in this process.
  Team(algebra::Library& library, const WorkerProcessOptions& options);

  std::size_t size() const { return helpers_.size(); }
  /// Changes of the rules, to be known before the next task.
  void change(const std::vector<std::string>& changes);
  /// Whether one may begin a task now, while so many items wait. One that has yet to be started may if they are many,
  /// or if the others have been at work for about as long as starting takes: some short tasks are not worth it.
  bool has_idle(std::size_t waiting) const;
  bool busy() const;
  /// One that has nothing to do begins the task.
  void start(std::size_t number, const Task& task);
  /// Answers that are there, the first of them awaited so long; none if none came.
  std::vector<Done> finished(std::chrono::microseconds wait);
  /// Ends helpers in the middle of their tasks, which get no answers.
  void abandon();
  /// How many helpers ended before their time, and were replaced.
  std::uint64_t restarts() const;

 private:
  struct Member {
    Member(algebra::Library& library, const WorkerProcessOptions& options) : helper(library, options) {}
    WorkerProcess helper;
    std::size_t task = 0;
  };
  std::vector<Done> poll(std::chrono::microseconds wait);

  std::vector<std::unique_ptr<Member>> helpers_;
  std::chrono::steady_clock::time_point busy_since_;  // the last time that none was
};

}  // namespace rulemill::prove
