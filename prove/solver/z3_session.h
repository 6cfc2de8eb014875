// Runs SMT-LIB scripts in Z3.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace rulemill::prove {

/// A Z3 context for a sequence of scripts. It is created for the first one, which takes 5 ms.
class Z3Session {
 public:
  Z3Session();
  ~Z3Session();
  Z3Session(const Z3Session&) = delete;
  Z3Session& operator=(const Z3Session&) = delete;

  /// Whether a script about real numbers has a context of its own, so that its answer depends on nothing else.
  enum class Context : std::uint8_t { Own, Shared };
  /// Returns the answer to a script's one (check-sat): "unsat", "sat", "unknown", or Z3's error message. Limited by
  /// Z3's resource counter, and by the process's timer; signals do not interrupt it.
  std::string answer(const std::string& script, unsigned limit = 100'000'000, Context kind = Context::Own);
  static std::string version();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;  // null before the first script
};

}  // namespace rulemill::prove
