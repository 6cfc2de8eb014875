// Errors. A run that cannot continue throws an Error, which names the place, what was found and what was expected.
// Expected results (a refuted rule, a type that does not unify) are values, never exceptions.
#pragma once

#include <stdexcept>
#include <string>

namespace rulemill::runtime {

/// The reason why a run cannot continue. `where` is a place that the user can open: "file:line:column", a file, an
/// option.
class Error : public std::runtime_error {
 public:
  Error(std::string where, std::string what)
      : std::runtime_error(where.empty() ? what : where + ": " + what), where_(std::move(where)) {}

  const std::string& where() const { return where_; }
  /// The process's exit code: 1 failed, 2 usage, 3 bad input, 4 interrupted and resumable.
  virtual int exit_code() const { return 1; }

 private:
  std::string where_;
};

/// An invalid input: a definition, profile, model, rule file, shard.
class InputError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 3; }
};

/// An invalid option or option value.
class UsageError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 2; }
};

/// A failed read or write: permissions, a full disk.
class IoError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 3; }
};

/// A stop by a signal or a time limit. Running the same command again resumes.
class Interrupted : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 4; }
};

/// Throws Error for a violated internal invariant.
[[noreturn]] void check_failed(const char* expression, const char* file, int line, const std::string& message);

}  // namespace rulemill::runtime

/// An invariant that is also checked in release builds.
#define RM_CHECK(condition, message)                                                              \
  do {                                                                                            \
    if (!(condition)) ::rulemill::runtime::check_failed(#condition, __FILE__, __LINE__, message); \
  } while (false)
