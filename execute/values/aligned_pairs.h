// Memory for blocks of tensors, aligned to cache lines, so that kernels read it in place.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "execute/values/field.h"

namespace rulemill::execute {

class AlignedPairs {
 public:
  AlignedPairs() = default;
  /// Allocates zeroed memory.
  explicit AlignedPairs(std::size_t pairs) : size_(pairs) {
    const std::size_t bytes = (pairs * sizeof(FieldPair) + line - 1) / line * line;
    if (bytes == 0) return;
    auto* memory = static_cast<FieldPair*>(std::aligned_alloc(line, bytes));
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 0, bytes);
    pairs_.reset(memory);
  }
  FieldPair* data() { return pairs_.get(); }
  const FieldPair* data() const { return pairs_.get(); }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t line = 64;
  struct FreeDeleter {
    void operator()(FieldPair* pairs) const { std::free(pairs); }
  };
  std::unique_ptr<FieldPair[], FreeDeleter> pairs_;
  std::size_t size_ = 0;
};

}  // namespace rulemill::execute
