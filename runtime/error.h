// The one way a run that cannot go on ends: an Error that says where, what was found and what was expected.
// Expected outcomes (a refuted rule, a type that does not unify) are values, never exceptions.
#pragma once

#include <stdexcept>
#include <string>

namespace rulemill::runtime {

/// A run that cannot go on. `where` is a place that its reader can open: "file:line:column", a file, an option.
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

/// Something that the user gave is wrong: a definition, profile, model, rule file, shard.
class InputError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 3; }
};

/// An option or its value is wrong.
class UsageError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 2; }
};

/// Reading or writing failed: permissions, a full disk.
class IoError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 3; }
};

/// Stopped by a signal or a time limit; running the same command again continues.
class Interrupted : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 4; }
};

/// Throws Error for a broken invariant of ours.
[[noreturn]] void check_failed(const char* expression, const char* file, int line, const std::string& message);

}  // namespace rulemill::runtime

/// An invariant that stays checked in release builds.
#define RM_CHECK(condition, message)                                                              \
  do {                                                                                            \
    if (!(condition)) ::rulemill::runtime::check_failed(#condition, __FILE__, __LINE__, message); \
  } while (false)
