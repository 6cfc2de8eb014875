// A file descriptor that is closed once.
#pragma once

#include <unistd.h>

#include <utility>

namespace rulemill::runtime {

/// Of an open file, or of none below 0.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }
  bool valid() const { return value_ >= 0; }
  /// Closes it now; false with errno set if that fails.
  bool close() { return ::close(std::exchange(value_, -1)) == 0; }

 private:
  int value_;
};

}  // namespace rulemill::runtime
