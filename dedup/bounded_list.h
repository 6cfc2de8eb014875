// A list of at most N plain values, in place: candidates are copied and compared by the million.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "runtime/error.h"

namespace rulemill::dedup {

template <class T, std::size_t N>
class BoundedList {
 public:
  BoundedList() = default;
  BoundedList(const BoundedList& other) : size_(other.size_) { std::copy_n(other.data_.begin(), size_, data_.begin()); }
  BoundedList& operator=(const BoundedList& other) {
    size_ = other.size_;
    std::copy_n(other.data_.begin(), size_, data_.begin());
    return *this;
  }

  void push_back(const T& value) {
    RM_CHECK(size_ < N, "a candidate has more parts than it can hold");
    data_[size_++] = value;
  }
  void resize(std::size_t size, const T& fill = {}) {
    RM_CHECK(size <= N, "a candidate has more parts than it can hold");
    for (; size_ < size; ++size_) data_[size_] = fill;
    size_ = static_cast<std::uint8_t>(size);
  }
  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_.data(); }
  T* end() { return data_.data() + size_; }
  const T* begin() const { return data_.data(); }
  const T* end() const { return data_.data() + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1u]; }

  bool operator==(const BoundedList& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  std::array<T, N> data_;
  std::uint8_t size_ = 0;
};

}  // namespace rulemill::dedup
