// NVRTC, and the loading of what it compiled.
#include "tests/gpu_stand_in/modules.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace rulemill::gpu_stand_in {
namespace {

struct Program final : Object {
  static constexpr const char* name = "program";
  std::string source, log, code;
};
struct Library final : Object {
  static constexpr const char* name = "kernel library";
  std::map<std::string, cudaKernel_t> kernels;  // by function; they live as long as the library
  ~Library() override {
    for (const auto& [function, kernel] : kernels) destroy_object(kernel);
  }
};

struct CompiledFunction {
  std::size_t parameters = 0;
  HostModule::Run run = nullptr;
};

/// By name, a hash of the kernel's text: a kernel is compiled once for all programs, because the compiler takes long to
/// start.
std::map<std::string, CompiledFunction>& compiled_functions() {
  static std::map<std::string, CompiledFunction> functions;
  return functions;
}
std::mutex modules_mutex;

/// "machine code" is this line, and the names of the functions.
constexpr const char* magic = "gpu stand-in";

void compile(Program& program) {
  static std::vector<std::unique_ptr<HostModule>> modules;
  const std::scoped_lock lock(modules_mutex);
  const auto functions = HostModule::functions(program.source);
  auto& known = compiled_functions();
  const auto is_known = [&](const auto& function) { return known.contains(function.name); };
  if (functions.empty() || !std::ranges::all_of(functions, is_known)) {
    const auto& module = modules.emplace_back(std::make_unique<HostModule>(program.source));
    if (!module->compiled()) {
      const std::size_t error = module->log().find("error: ");
      program.log = "kernels.cu: " + (error == std::string::npos ? "no compiler" : module->log().substr(error));
      throw Failure{NVRTC_ERROR_COMPILATION};
    }
    for (const auto& function : functions) known[function.name] = {function.parameters, module->find(function.name)};
  }
  program.code = magic;
  for (const auto& function : functions) program.code += "\n" + function.name;
}

}  // namespace
}  // namespace rulemill::gpu_stand_in

using namespace rulemill::gpu_stand_in;

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) {
  return call<nvrtcResult>(__func__, [&] {
    *major = CUDART_VERSION / 1000;
    *minor = CUDART_VERSION % 1000 / 10;
  });
}

const char* nvrtcGetErrorString(nvrtcResult) {
  call<nvrtcResult>(__func__, [] {});
  return "an error of the stand-in";
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*, int, const char* const*,
                               const char* const*) {
  return call<nvrtcResult>(__func__, [&] {
    auto made = std::make_unique<Program>();
    made->source = source;
    create(program, std::move(made));
  });
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  return call<nvrtcResult>(__func__, [&] { destroy_object(*program); });
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  return call<nvrtcResult>(__func__, [&] {
    require(count > 0 && std::strncmp(options[0], "--gpu-architecture=sm_", 22) == 0, "no real architecture is given");
    compile(find<Program>(program));
  });
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* size) {
  return call<nvrtcResult>(__func__, [&] { *size = find<Program>(program).log.size() + 1; });
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  return call<nvrtcResult>(__func__, [&] { std::strcpy(log, find<Program>(program).log.c_str()); });
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* size) {
  return call<nvrtcResult>(__func__, [&] {
    require(!find<Program>(program).code.empty(), "the program has not been compiled");
    *size = find<Program>(program).code.size() + 1;
  });
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  return call<nvrtcResult>(__func__, [&] { std::strcpy(code, find<Program>(program).code.c_str()); });
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  return call<cudaError_t>(__func__, [&] {
    forbid_in_capture();
    std::string names = static_cast<const char*>(code);
    require(names.starts_with(magic), "this is no machine code", cudaErrorInvalidValue);
    auto made = std::make_unique<Library>();
    for (std::size_t at = names.find('\n'); at != std::string::npos;) {
      const std::size_t next = names.find('\n', at + 1);
      auto kernel = std::make_unique<Kernel>();
      kernel->function = names.substr(at + 1, next == std::string::npos ? next : next - at - 1);
      const std::scoped_lock lock(modules_mutex);
      kernel->parameters = compiled_functions().at(kernel->function).parameters;
      kernel->run = compiled_functions().at(kernel->function).run;
      cudaKernel_t& handle = made->kernels[kernel->function];
      create(&handle, std::move(kernel));
      at = next;
    }
    create(library, std::move(made));
  });
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return call<cudaError_t>(__func__, [&] {
    const auto& kernels = find<Library>(library).kernels;
    const auto found = kernels.find(name);
    require(found != kernels.end(), "no such kernel", cudaErrorSymbolNotFound);
    *kernel = found->second;
  });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return call<cudaError_t>(__func__, [&] { destroy_object(library); });
}

}  // extern "C"
