// Memory for blocks of tensors, at a multiple of a cache line: what kernels read in place.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "execute/field.h"

namespace rulemill::execute {

class AlignedPairs {
 public:
  AlignedPairs() = default;
  /// Zeroed.
  explicit AlignedPairs(std::size_t pairs) : size_(pairs) {
    const std::size_t bytes = (pairs * sizeof(Pair) + line - 1) / line * line;
    if (bytes == 0) return;
    auto* memory = static_cast<Pair*>(std::aligned_alloc(line, bytes));
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 0, bytes);
    pairs_.reset(memory);
  }
  Pair* data() { return pairs_.get(); }
  const Pair* data() const { return pairs_.get(); }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t line = 64;
  struct Free {
    void operator()(Pair* pairs) const { std::free(pairs); }
  };
  std::unique_ptr<Pair[], Free> pairs_;
  std::size_t size_ = 0;
};

}  // namespace rulemill::execute
