// Runs SMT-LIB scripts: in Z3, and in cvc5, another solver by other people, as a process of its own.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/scratch_folder.h"
#include "runtime/subprocess.h"

namespace rulemill::prove {

/// Z3 for scripts: one session that is reset between them.
class Z3Session {
 public:
  Z3Session();
  ~Z3Session();
  Z3Session(const Z3Session&) = delete;
  Z3Session& operator=(const Z3Session&) = delete;

  /// The answer to the one (check-sat) of a script: "unsat", "sat" or "unknown", or what the script is blamed for.
  /// Bounded by Z3's resource counter; signals are not taken for answers.
  std::string answer(const std::string& script);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The cvc5 binary on PATH; empty if there is none.
std::filesystem::path find_cvc5();

/// cvc5 on some scripts, with a reset between them: a process that works beside whoever started it.
class Cvc5Run {
 public:
  Cvc5Run(const std::filesystem::path& cvc5, const std::vector<std::string>& scripts);

  /// Its answers to each script, waited for. Throws Error if that takes longer than the time.
  std::vector<std::vector<std::string>> answers(std::chrono::milliseconds timeout);
  /// From its start to the last answer, once these are there.
  double seconds() const;

 private:
  runtime::ScratchFolder folder_;
  std::size_t scripts_;
  runtime::Subprocess process_;
};

}  // namespace rulemill::prove
