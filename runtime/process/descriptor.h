// An owned file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace rulemill::runtime {

/// Closes the descriptor when destroyed. A negative value means that no file is open.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }
  bool is_valid() const { return value_ >= 0; }
  int release() { return std::exchange(value_, -1); }
  /// Closes it now. Returns false and sets errno if that fails.
  bool close() { return ::close(std::exchange(value_, -1)) == 0; }

 private:
  int value_;
};

}  // namespace rulemill::runtime
