// Does tasks, in whatever process it is made. An answer depends on the task and on the rules that were added and
// removed, not on earlier tasks.
#pragma once

#include <span>

#include "prove/farm/task.h"
#include "prove/farm/workbench.h"
#include "prove/prover.h"

namespace rulemill::prove {

struct WorkerOptions {
  ProverOptions prover;
  egraph::Limits limits;
};

class Worker {
 public:
  Worker(algebra::Library& library, const WorkerOptions& options);

  /// One of adding() or removing().
  void change(const std::string& change);
  Answer answer(const Task& task);

 private:
  std::string answer(const Task& task, const std::string& item);
  /// The numbered rule, asked of the enabled ones without it; `earlier`: of those before it.
  Implied implied_by_others(std::uint32_t rule, bool earlier, Workbench::Try how);

  algebra::Library& library_;
  WorkerOptions options_;
  Workbench bench_;
  std::vector<bool> enabled_;
  Effort effort_;
};

}  // namespace rulemill::prove
