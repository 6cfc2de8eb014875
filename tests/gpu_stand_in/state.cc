#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include "tests/gpu_stand_in/calls.h"

namespace rulemill::gpu_stand_in {
namespace {

struct Allocation {
  std::size_t bytes = 0;
  bool on_device = false;
};

struct State {
  std::recursive_mutex mutex;
  Faults faults;
  std::map<std::string, std::size_t> counts, planned_counts;  // since the start; since plan(), of refusable calls
  std::vector<std::string> violations;
  std::map<const void*, std::pair<std::unique_ptr<Object>, const char*>> objects;
  std::map<char*, Allocation> memory;
  std::uint64_t device_bytes = 0, peak_bytes = 0;
  int lost = 0;  // the status that all calls of cudart return after a fault of a kernel

  State() {
    if (const char* text = std::getenv("RULEMILL_GPU_STAND_IN")) faults = parse_faults(text);
  }
};

/// Never destroyed: handles in static objects outlive it otherwise.
State& state() {
  static State& only = *new State;
  return only;
}

bool is_sticky(int status) { return status >= cudaErrorIllegalAddress && status <= cudaErrorLaunchFailure; }

}  // namespace

Faults parse_faults(const std::string& text) {
  Faults faults;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equal = item.find('='), at = item.find('@');
    const std::string value = equal == std::string::npos ? "" : item.substr(equal + 1);
    const std::string name = item.substr(0, std::min(equal, at));
    if (name == "memory") {
      faults.memory_bytes = std::stoull(value);
    } else if (name == "math") {
      faults.math_type = std::stoi(value);
    } else if (name == "exclusive") {
      faults.exclusive_lock = value;
    } else {
      Refusal& refusal = faults.refusals[name];
      if (!value.empty()) refusal.status = std::stoi(value);
      if (at == std::string::npos) continue;
      const std::string when = item.substr(at + 1, equal == std::string::npos ? equal : equal - at - 1);
      refusal.in_capture = when == "capture";
      if (!refusal.in_capture) refusal.nth = std::stoull(when);
      refusal.onwards = when.ends_with('+');
    }
  }
  return faults;
}

void plan(const Faults& faults) {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  s.faults = faults;
  s.planned_counts.clear();
  s.violations.clear();
  s.peak_bytes = s.device_bytes;
  s.lost = 0;
}

void restart() {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  while (!s.objects.empty()) s.objects.extract(s.objects.begin());  // an object's destructor may destroy others
  for (const auto& [memory, allocation] : s.memory) std::free(memory);
  s.memory.clear();
  s.device_bytes = 0;
  s.lost = 0;
}

const Faults& faults() { return state().faults; }

std::vector<std::string> violations() {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  return s.violations;
}

std::vector<std::string> leaks() {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  std::map<std::string, std::size_t> counts;
  for (const auto& [handle, object] : s.objects) ++counts[object.second];
  if (!s.memory.empty()) counts["allocation"] = s.memory.size();
  std::vector<std::string> texts;
  for (const auto& [type, count] : counts) texts.push_back(std::to_string(count) + " " + type);
  return texts;
}

std::map<std::string, std::size_t> call_counts() {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  return s.counts;
}

std::uint64_t device_bytes() { return state().device_bytes; }
std::uint64_t peak_device_bytes() { return state().peak_bytes; }

std::optional<int> enter(const char* name) {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  ++s.counts[name];
  const bool of_cudart = std::strncmp(name, "cuda", 4) == 0;
  if (of_cudart && s.lost != 0) return s.lost;
  const auto found = s.faults.refusals.find(name);
  if (found == s.faults.refusals.end()) return std::nullopt;
  const Refusal& refusal = found->second;
  if (refusal.in_capture && !is_capturing()) return std::nullopt;
  const std::size_t count = ++s.planned_counts[name];
  if (refusal.nth != 0 && (refusal.onwards ? count < refusal.nth : count != refusal.nth)) return std::nullopt;
  if (of_cudart && is_sticky(refusal.status)) s.lost = refusal.status;
  return refusal.status;
}

void add_violation(const char* name, const std::string& text) {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  s.violations.push_back(std::string(name) + ": " + text);
  std::fprintf(stderr, "gpu stand-in: %s\n", s.violations.back().c_str());
}

void add_object(std::unique_ptr<Object> object, const char* type) {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  const void* handle = object.get();
  s.objects[handle] = {std::move(object), type};
}

Object& find_object(const void* handle) {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  const auto found = s.objects.find(handle);
  require(found != s.objects.end(), "the handle does not exist");
  return *found->second.first;
}

void destroy_object(const void* handle) {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  const auto destroyed = s.objects.extract(handle);  // the destructor of an object may destroy others
  require(!destroyed.empty(), "the handle does not exist");
}

void* allocate(std::size_t bytes, bool on_device) {
  constexpr std::size_t granularity = 256, most_marked_bytes = std::size_t{16} << 20;
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  if (on_device && s.device_bytes + bytes > s.faults.memory_bytes) throw Failure{cudaErrorMemoryAllocation};
  auto* memory = static_cast<char*>(std::aligned_alloc(granularity, (bytes / granularity + 1) * granularity));
  if (memory == nullptr) throw Failure{cudaErrorMemoryAllocation};
  // New memory is full of NaN, except where touching it would take long.
  if (bytes <= most_marked_bytes) std::memset(memory, 0xff, bytes);
  s.memory[memory] = {bytes, on_device};
  if (on_device) s.device_bytes += bytes;
  s.peak_bytes = std::max(s.peak_bytes, s.device_bytes);
  return memory;
}

void release(void* memory) {
  if (memory == nullptr) return;
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  const auto found = s.memory.find(static_cast<char*>(memory));
  require(found != s.memory.end(), "no such memory");
  if (found->second.on_device) s.device_bytes -= found->second.bytes;
  s.memory.erase(found);
  std::free(memory);
}

void require_memory(const void* memory, std::size_t bytes, const char* what, std::size_t alignment) {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  const auto* first = static_cast<const char*>(memory);
  auto next = s.memory.upper_bound(const_cast<char*>(first));
  const bool found = next != s.memory.begin() && first + bytes <= (--next)->first + next->second.bytes;
  require(found, std::string(what) + " lies outside of allocated memory");
  require(reinterpret_cast<std::uintptr_t>(memory) % alignment == 0,
          std::string(what) + " is not aligned to " + std::to_string(alignment) + " bytes");
}

}  // namespace rulemill::gpu_stand_in
