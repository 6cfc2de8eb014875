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

  /// The answers to a script's (check-sat) commands, one word each; an error message counts as one.
  std::vector<std::string> answers(const std::string& script);

  /// Positions of assertions that are unsatisfiable together; nothing if Z3 does not say "unsat". `declarations` are
  /// those of all names. The same for the same input and version of Z3.
  std::optional<std::vector<std::size_t>> unsatisfiable_core(const std::string& declarations,
                                                             const std::vector<std::string>& assertions);

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
