// Runs SMT-LIB scripts: in Z3, and in cvc5, another solver by other people, as a process of its own.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

/// The answers of cvc5 to each script, all run by one process with a reset between them. Throws Error if it does not
/// end within the time.
std::vector<std::vector<std::string>> cvc5_answers(const std::filesystem::path& cvc5,
                                                   const std::vector<std::string>& scripts,
                                                   std::chrono::milliseconds timeout);

}  // namespace rulemill::prove
