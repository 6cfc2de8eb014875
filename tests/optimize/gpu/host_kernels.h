// Kernels compiled as C++ by the host compiler and run thread by thread, as a GPU would.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "algebra/execution/reference.h"
#include "optimize/gpu/kernels/kernel_source.h"
#include "runtime/files/scratch_folder.h"

namespace rulemill::optimize::gpu {

inline bool has_host_compiler() { return std::system("c++ --version >/dev/null 2>&1") == 0; }

class HostKernels {
 public:
  explicit HostKernels(const std::vector<Kernel>& kernels, std::span<const algebra::Function> functions) {
    const std::filesystem::path source = folder_.path() / "kernels.cc", binary = folder_.path() / "kernels.so";
    std::ofstream(source) << R"(#include <math.h>
#define __device__
#define __global__
struct Place { unsigned x; };
static Place blockIdx, blockDim, threadIdx;
)" << translation_unit(kernels, functions)
                          << launchers(kernels);
    const std::string command =
        "c++ -std=c++17 -O0 -w -ffp-contract=off -shared -fPIC -o " + binary.string() + " " + source.string();
    if (std::system(command.c_str()) != 0) return;
    library_.reset(dlopen(binary.c_str(), RTLD_NOW | RTLD_LOCAL));
  }

  bool compiled() const { return library_ != nullptr; }

  /// Runs one block more than needed, so that threads without an element occur.
  void run(const Kernel& kernel, const std::vector<const float*>& reads, float* out) const {
    using Launcher = void (*)(const float* const*, float*, unsigned, unsigned);
    const auto launch = reinterpret_cast<Launcher>(dlsym(library_.get(), ("run_" + kernel.name).c_str()));
    launch(reads.data(), out, kernel.blocks() + 1, Kernel::threads_per_block);
  }

 private:
  static std::string launchers(const std::vector<Kernel>& kernels) {
    std::string text;
    std::set<std::string> written;
    for (const Kernel& kernel : kernels) {
      if (!written.insert(kernel.name).second) continue;
      text += "extern \"C\" void run_" + kernel.name +
              "(const float* const* reads, float* out, unsigned blocks, unsigned threads) {\n  blockDim.x = threads;\n"
              "  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)\n"
              "    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) " +
              kernel.name + "(";
      for (std::size_t i = 0; i < kernel.reads.size(); ++i) text += "reads[" + std::to_string(i) + "], ";
      text += "out);\n}\n";
    }
    return text;
  }

  struct LibraryCloser {
    void operator()(void* library) const { dlclose(library); }
  };
  runtime::ScratchFolder folder_;
  std::unique_ptr<void, LibraryCloser> library_;
};

/// Computes all tensors of the instance, one kernel after the other; returns the outputs.
inline std::vector<std::vector<float>> run_on_host(const HostKernels& host, const TensorExprs& exprs,
                                                   const std::vector<Kernel>& kernels,
                                                   const std::vector<algebra::Tensor>& inputs) {
  std::vector<std::vector<float>> input_values, computed(kernels.size());
  for (const algebra::Tensor& input : inputs) input_values.emplace_back(input.values.begin(), input.values.end());
  for (std::size_t t = 0; t < kernels.size(); ++t) {
    computed[t].assign(static_cast<std::size_t>(kernels[t].elements), -12345.0F);
    std::vector<const float*> reads;
    for (const std::uint32_t read : kernels[t].reads)
      reads.push_back(read < inputs.size() ? input_values[read].data() : computed[read - inputs.size()].data());
    host.run(kernels[t], reads, computed[t].data());
  }
  computed.erase(computed.begin(), computed.begin() + static_cast<std::ptrdiff_t>(exprs.intermediates));
  return computed;
}

}  // namespace rulemill::optimize::gpu
