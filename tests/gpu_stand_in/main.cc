// Runs the tests; after a run of all of them, names the library calls in the sources that the stand-in did not see.
#define CATCH_CONFIG_RUNNER
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "tests/gpu_stand_in/stand_in.h"

namespace rulemill::gpu_stand_in {
namespace {

/// The functions of the libraries whose names occur in the GPU code. Types and enumerators are no symbols.
std::set<std::string> calls_in_sources() {
  static const std::regex name(R"(\b(cuda|cudnn|cublasLt|nvrtc)[A-Z]\w*)");
  std::set<std::string> calls;
  for (const char* folder : {"optimize/gpu", "execute/gpu"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const auto extension = entry.path().extension();
      if (extension != ".cc" && extension != ".h" && extension != ".cu") continue;
      std::ifstream file(entry.path());
      const std::string text(std::istreambuf_iterator<char>(file), {});
      for (std::sregex_iterator each(text.begin(), text.end(), name), end; each != end; ++each)
        if (dlsym(RTLD_DEFAULT, each->str().c_str()) != nullptr) calls.insert(each->str());
    }
  }
  return calls;
}

int report_calls() {
  const std::set<std::string> calls = calls_in_sources();
  const auto counts = call_counts();
  std::size_t missing = 0;
  for (const std::string& call : calls) {
    if (counts.contains(call)) continue;
    ++missing;
    std::printf("library call that no test exercises: %s\n", call.c_str());
  }
  std::printf("library calls in the sources: %zu, exercised: %zu\n", calls.size(), calls.size() - missing);
  constexpr std::size_t plausible = 60;  // fewer were found: the scan does not work
  return missing == 0 && calls.size() >= plausible ? 0 : 1;
}

}  // namespace
}  // namespace rulemill::gpu_stand_in

int main(int argc, char** argv) {
  const int status = Catch::Session().run(argc, argv);
  return status != 0 || argc > 1 ? status : rulemill::gpu_stand_in::report_calls();
}
