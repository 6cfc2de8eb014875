#include "optimize/gpu/compiler.h"

#include <algorithm>
#include <regex>
#include <sstream>

#include "runtime/error.h"

#ifdef RULEMILL_HAVE_GPU
#include <nvrtc.h>
#endif

namespace rulemill::optimize::gpu {

double KernelUse::occupancy() const {
  // Registers are given to warps, in pieces of 256; 65,536 for 64 warps.
  constexpr std::uint32_t all_registers = 65536, all_warps = 64, threads_a_warp = 32, piece = 256;
  const std::uint32_t a_warp = std::max<std::uint32_t>(1, (registers * threads_a_warp + piece - 1) / piece) * piece;
  const std::uint32_t warps = all_registers / a_warp;
  return std::min(1.0, static_cast<double>(warps) / all_warps);
}

std::map<std::string, KernelUse> parse_report(const std::string& report) {
  static const std::regex entry("Compiling entry function '([^']+)'"), registers("Used (\\d+) registers"),
      memory("(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads");
  std::map<std::string, KernelUse> use;
  KernelUse* current = nullptr;
  std::istringstream lines(report);
  const auto number = [](const std::ssub_match& text) { return static_cast<std::uint32_t>(std::stoul(text)); };
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_search(line, found, entry)) {
      current = &use[found[1]];
    } else if (current != nullptr && std::regex_search(line, found, memory)) {
      current->stack_bytes = number(found[1]);
      current->spill_store_bytes = number(found[2]);
      current->spill_load_bytes = number(found[3]);
    } else if (current != nullptr && std::regex_search(line, found, registers)) {
      current->registers = number(found[1]);
    }
  }
  return use;
}

#ifdef RULEMILL_HAVE_GPU

namespace {

void must(nvrtcResult result, const char* call) {
  if (result != NVRTC_SUCCESS) throw runtime::Error("NVRTC", std::string(call) + ": " + nvrtcGetErrorString(result));
}

class Program {
 public:
  explicit Program(const std::string& source) {
    must(nvrtcCreateProgram(&program_, source.c_str(), "kernels.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
  }
  ~Program() { nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcProgram get() const { return program_; }
  std::string log() const {
    std::size_t size = 0;
    must(nvrtcGetProgramLogSize(program_, &size), "nvrtcGetProgramLogSize");
    std::string text(size, '\0');
    must(nvrtcGetProgramLog(program_, text.data()), "nvrtcGetProgramLog");
    return text;
  }

 private:
  nvrtcProgram program_ = nullptr;
};

}  // namespace

std::optional<std::string> compiler_version() {
  int major = 0, minor = 0;
  must(nvrtcVersion(&major, &minor), "nvrtcVersion");
  return "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
}

Compiled compile(const std::string& source, const std::string& architecture) {
  const Program program(source);
  const std::string target = "--gpu-architecture=" + architecture;
  const char* options[] = {target.c_str(), "--std=c++17", "--ptxas-options=-v"};
  const nvrtcResult result = nvrtcCompileProgram(program.get(), 3, options);
  const std::string log = program.log();
  if (result != NVRTC_SUCCESS) throw runtime::Error("NVRTC", "a kernel was refused: " + log.substr(0, log.find('\n')));
  Compiled made;
  std::size_t size = 0;
  must(nvrtcGetCUBINSize(program.get(), &size), "nvrtcGetCUBINSize");
  made.machine_code.resize(size);
  must(nvrtcGetCUBIN(program.get(), made.machine_code.data()), "nvrtcGetCUBIN");
  made.use = parse_report(log);
  return made;
}

#else

std::optional<std::string> compiler_version() { return std::nullopt; }
Compiled compile(const std::string&, const std::string&) {
  throw runtime::Error("NVRTC", "this build has no CUDA libraries");
}

#endif

}  // namespace rulemill::optimize::gpu
