// CUDA source compiled as C++ by the host's compiler, and its kernels run thread by thread, as a GPU would.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "runtime/files/scratch_folder.h"

namespace rulemill::gpu_stand_in {

inline bool has_host_compiler() { return std::system("c++ --version >/dev/null 2>&1") == 0; }

class HostModule {
 public:
  /// Runs the kernel on pointers: its parameters.
  using Run = void (*)(void* const* pointers, unsigned blocks, unsigned threads);

  struct Function {
    std::string name;
    std::size_t parameters = 0;
    std::size_t begin = 0;  // in the source
  };

  /// The kernels of a source; all their parameters are pointers to floats.
  static std::vector<Function> functions(const std::string& source) {
    static const std::regex declaration(R"(__global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\(([^)]*)\))");
    std::vector<Function> found;
    for (std::sregex_iterator each(source.begin(), source.end(), declaration), end; each != end; ++each) {
      const std::string parameters = (*each)[2];
      found.push_back({(*each)[1],
                       parameters.empty() ? 0 : 1 + static_cast<std::size_t>(std::ranges::count(parameters, ',')),
                       static_cast<std::size_t>(each->position())});
    }
    return found;
  }

  explicit HostModule(const std::string& source) {
    const auto file = [&](const char* name) { return (folder_.path() / name).string(); };
    std::ofstream(file("kernels.cc")) << R"(#include <math.h>
#define __device__
#define __global__
#define __launch_bounds__(threads)
struct Place { unsigned x; };
static Place blockIdx, blockDim, threadIdx;
)" << source << launchers(functions(source));
    const std::string command = "c++ -std=c++17 -O0 -w -ffp-contract=off -shared -fPIC -o " + file("kernels.so") + " " +
                                file("kernels.cc") + " 2>" + file("log");
    if (std::system(command.c_str()) == 0) library_.reset(dlopen(file("kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL));
    std::ifstream log(file("log"));
    log_.assign(std::istreambuf_iterator<char>(log), {});
  }

  bool compiled() const { return library_ != nullptr; }
  const std::string& log() const { return log_; }
  Run find(const std::string& name) const {
    return reinterpret_cast<Run>(dlsym(library_.get(), ("run_" + name).c_str()));
  }

 private:
  static std::string launchers(const std::vector<Function>& functions) {
    std::string text;
    for (const Function& function : functions) {
      text += "extern \"C\" void run_" + function.name +
              "(void* const* pointers, unsigned blocks, unsigned threads) {\n  blockDim.x = threads;\n"
              "  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)\n"
              "    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) " +
              function.name + "(";
      for (std::size_t i = 0; i < function.parameters; ++i)
        text += (i == 0 ? "(float*)pointers[" : ", (float*)pointers[") + std::to_string(i) + "]";
      text += ");\n}\n";
    }
    return text;
  }

  struct LibraryCloser {
    void operator()(void* library) const { dlclose(library); }
  };
  runtime::ScratchFolder folder_;
  std::unique_ptr<void, LibraryCloser> library_;
  std::string log_;
};

}  // namespace rulemill::gpu_stand_in
