#include "runtime/process/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <sstream>

#include "runtime/text/quantity.h"

namespace rulemill::runtime {
namespace {

/// Returns the value of the first line "key : value" in /proc/cpuinfo.
std::string cpuinfo(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (line.rfind(key, 0) == 0 && colon != std::string::npos) {
      const auto start = line.find_first_not_of(' ', colon + 1);
      return start == std::string::npos ? "" : line.substr(start);
    }
  }
  return {};
}

/// Lists the folders of this process's control group (version 2) and of its ancestors.
std::vector<std::filesystem::path> control_group_folders() {
  std::vector<std::filesystem::path> folders;
  const std::filesystem::path root = "/sys/fs/cgroup";
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("0::/", 0) != 0) continue;
    auto folder = root / line.substr(4);
    for (; folder.string().size() > root.string().size(); folder = folder.parent_path()) folders.push_back(folder);
  }
  folders.push_back(root);
  return folders;
}

/// Returns the minimum over the control groups of the first number in the file `name`, divided by the second number if
/// there is one.
std::optional<double> control_group_limit(const std::string& name) {
  std::optional<double> lowest;
  for (const auto& folder : control_group_folders()) {
    std::ifstream file(folder / name);
    double limit = 0;
    double period = 1;
    if (!(file >> limit)) continue;  // "max": no limit
    file >> period;
    lowest = std::min(lowest.value_or(HUGE_VAL), limit / (period > 0 ? period : 1));
  }
  return lowest;
}

/// Returns a line of /proc/self/status that is given in kB, in bytes.
std::optional<std::uint64_t> status_bytes(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    std::uint64_t kilobytes = 0;
    if (line.rfind(name, 0) == 0 && std::istringstream(line.substr(name.size())) >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

}  // namespace

unsigned available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  auto cores = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  if (sched_getaffinity(0, sizeof set, &set) == 0) cores = static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  if (const auto quota = control_group_limit("cpu.max")) {
    cores = std::min(cores, static_cast<unsigned>(std::max(1.0, std::ceil(*quota))));
  }
  return cores;
}

Machine describe_machine() {
  Machine machine;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) machine.host = host.data();
  machine.cpu = cpuinfo("model name");
  std::istringstream flags(cpuinfo("flags") + " " + cpuinfo("Features"));
  constexpr std::array<std::string_view, 8> relevant = {"sse4_2",  "avx",      "fma",   "avx2",
                                                        "avx512f", "avx512dq", "asimd", "sve"};
  for (std::string flag; flags >> flag;) {
    if (std::find(relevant.begin(), relevant.end(), flag) != relevant.end()) machine.cpu_features.push_back(flag);
  }
  std::sort(machine.cpu_features.begin(), machine.cpu_features.end());
  machine.cores = available_cores();
  machine.cores_online = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  machine.memory_bytes =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  if (const auto limit = control_group_limit("memory.max")) {
    machine.memory_bytes = std::min(machine.memory_bytes, static_cast<std::uint64_t>(*limit));
  }
  return machine;
}

std::uint64_t current_memory_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t shared_memory_bytes() { return status_bytes("RssShmem:").value_or(0); }

// VmHWM starts at exec; getrusage also counts the process before exec.
std::uint64_t peak_memory_bytes() {
  if (const auto peak = status_bytes("VmHWM:")) return *peak;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string describe_memory() {
  std::string text = format_bytes(current_memory_bytes()) + " in use";
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    text += ", at most " + format_bytes(limit.rlim_cur) + " of address space allowed (ulimit -v)";
  }
  return text;
}

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
