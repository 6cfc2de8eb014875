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
  enum class Others : std::uint8_t { All, Earlier };
  /// What `ask` says of the known rule's text while it is disabled, and later ones with it if they are not asked.
  template <typename Ask>
  auto asked_of(Others others, const KnownRule& rule, const Ask& ask);

  algebra::Library& library_;
  WorkerOptions options_;
  Workbench bench_;
  std::vector<bool> enabled_;
  Effort effort_;
};

}  // namespace rulemill::prove
