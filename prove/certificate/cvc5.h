// Runs SMT-LIB scripts in cvc5, a second, independent solver.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/files/scratch_folder.h"
#include "runtime/process/subprocess.h"

namespace rulemill::prove {

/// Returns the cvc5 binary beside this program, as a packed folder has it, or on PATH; empty if there is none.
std::filesystem::path find_cvc5();

/// A cvc5 process that runs scripts concurrently, with a reset between them.
class Cvc5Run {
 public:
  Cvc5Run(const std::filesystem::path& cvc5, const std::vector<std::string>& scripts);

  /// Waits for the answers to each script. Throws Error if the timeout is exceeded.
  std::vector<std::vector<std::string>> answers(std::chrono::milliseconds timeout);
  /// Returns the time from the start to the last answer; valid after answers().
  double seconds() const;

 private:
  runtime::ScratchFolder folder_;
  std::size_t scripts_;
  runtime::Subprocess process_;
};

}  // namespace rulemill::prove
