#include "runtime/process/memory_reserve.h"

#include <atomic>
#include <cstddef>
#include <new>

namespace rulemill::runtime {
namespace {

constexpr std::size_t reserve_bytes = std::size_t{512} << 10;

// Handlers of failed allocations have no arguments, so that the reserve must be global.
std::atomic<void*> reserve = nullptr;

[[noreturn]] void on_failed_allocation() {
  ::operator delete(reserve.exchange(nullptr));
  throw std::bad_alloc();
}

}  // namespace

void install_memory_reserve() {
  ::operator delete(reserve.exchange(::operator new(reserve_bytes, std::nothrow)));
  std::set_new_handler(on_failed_allocation);
}

}  // namespace rulemill::runtime
