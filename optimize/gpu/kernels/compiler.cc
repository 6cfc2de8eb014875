#include "optimize/gpu/kernels/compiler.h"

#include <algorithm>
#include <regex>
#include <sstream>

#include "runtime/text/error.h"

#ifdef RULEMILL_HAVE_GPU
#include <nvrtc.h>
#endif

namespace rulemill::optimize::gpu {

double KernelResources::occupancy() const {
  // Registers are allocated to warps in units of 256; a multiprocessor has 65,536 for 64 warps.
  constexpr std::uint32_t total_registers = 65536, max_warps = 64, threads_per_warp = 32, allocation_unit = 256;
  const std::uint32_t registers_per_warp =
      std::max<std::uint32_t>(1, (registers * threads_per_warp + allocation_unit - 1) / allocation_unit) *
      allocation_unit;
  const std::uint32_t warps = total_registers / registers_per_warp;
  return std::min(1.0, static_cast<double>(warps) / max_warps);
}

std::map<std::string, KernelResources> parse_resource_report(const std::string& report) {
  static const std::regex entry("Compiling entry function '([^']+)'"), registers("Used (\\d+) registers"),
      memory("(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads");
  std::map<std::string, KernelResources> resources;
  KernelResources* current = nullptr;
  std::istringstream lines(report);
  const auto number = [](const std::ssub_match& text) { return static_cast<std::uint32_t>(std::stoul(text)); };
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_search(line, found, entry)) {
      current = &resources[found[1]];
    } else if (current != nullptr && std::regex_search(line, found, memory)) {
      current->stack_bytes = number(found[1]);
      current->spill_store_bytes = number(found[2]);
      current->spill_load_bytes = number(found[3]);
    } else if (current != nullptr && std::regex_search(line, found, registers)) {
      current->registers = number(found[1]);
    }
  }
  return resources;
}

#ifdef RULEMILL_HAVE_GPU

namespace {

void check_nvrtc(nvrtcResult result, const char* call) {
  if (result != NVRTC_SUCCESS) throw runtime::Error("NVRTC", std::string(call) + ": " + nvrtcGetErrorString(result));
}

class NvrtcProgram {
 public:
  explicit NvrtcProgram(const std::string& source) {
    check_nvrtc(nvrtcCreateProgram(&program_, source.c_str(), "kernels.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
  }
  ~NvrtcProgram() { nvrtcDestroyProgram(&program_); }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  nvrtcProgram get() const { return program_; }
  std::string log() const {
    std::size_t size = 0;
    check_nvrtc(nvrtcGetProgramLogSize(program_, &size), "nvrtcGetProgramLogSize");
    std::string text(size, '\0');
    check_nvrtc(nvrtcGetProgramLog(program_, text.data()), "nvrtcGetProgramLog");
    return text;
  }

 private:
  nvrtcProgram program_ = nullptr;
};

}  // namespace

std::optional<std::string> compiler_version() {
  int major = 0, minor = 0;
  check_nvrtc(nvrtcVersion(&major, &minor), "nvrtcVersion");
  return "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
}

CompiledKernels compile(const std::string& source, const std::string& architecture) {
  const NvrtcProgram program(source);
  const std::string target = "--gpu-architecture=" + architecture;
  const char* options[] = {target.c_str(), "--std=c++17", "--ptxas-options=-v"};
  const nvrtcResult status = nvrtcCompileProgram(program.get(), 3, options);
  const std::string log = program.log();
  if (status != NVRTC_SUCCESS)
    throw runtime::Error("NVRTC", "kernel compilation failed: " + log.substr(0, log.find('\n')));
  CompiledKernels result;
  std::size_t size = 0;
  check_nvrtc(nvrtcGetCUBINSize(program.get(), &size), "nvrtcGetCUBINSize");
  result.machine_code.resize(size);
  check_nvrtc(nvrtcGetCUBIN(program.get(), result.machine_code.data()), "nvrtcGetCUBIN");
  result.resources = parse_resource_report(log);
  return result;
}

#else

std::optional<std::string> compiler_version() { return std::nullopt; }
CompiledKernels compile(const std::string&, const std::string&) {
  throw runtime::Error("NVRTC", "this build has no CUDA libraries");
}

#endif

}  // namespace rulemill::optimize::gpu
