// A list of at most N trivially destructible values without heap allocation, because millions of candidates are copied
// and compared. Storage beyond its end is not initialized, and copied in short lists only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "runtime/text/error.h"

namespace rulemill::dedup {

template <class T, std::size_t N>
class BoundedList {
  static_assert(std::is_trivially_destructible_v<T>, "elements are never destroyed");
  /// Short lists are copied as a whole, which takes a few instructions.
  static constexpr bool is_short = std::is_trivially_copyable_v<T> && sizeof(T) * N <= 64;

 public:
  BoundedList() {}
  BoundedList(const BoundedList& other) requires is_short = default;
  BoundedList& operator=(const BoundedList& other) requires is_short = default;
  BoundedList(const BoundedList& other) : size_(other.size_) { std::uninitialized_copy_n(other.data_, size_, data_); }
  BoundedList& operator=(const BoundedList& other) {
    if (this == &other) return *this;
    size_ = other.size_;
    std::uninitialized_copy_n(other.data_, size_, data_);
    return *this;
  }

  void push_back(const T& value) {
    RM_CHECK(size_ < N, "a candidate has more parts than it can hold");
    std::construct_at(data_ + size_, value);
    ++size_;
  }
  void resize(std::size_t size, const T& fill = {}) {
    RM_CHECK(size <= N, "a candidate has more parts than it can hold");
    for (; size_ < size; ++size_) std::construct_at(data_ + size_, fill);
    size_ = static_cast<std::uint8_t>(size);
  }
  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1u]; }

  bool operator==(const BoundedList& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  union {
    T data_[N];
  };
  std::uint8_t size_ = 0;
};

}  // namespace rulemill::dedup
