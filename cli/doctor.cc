// `rulemill doctor`: what this build and this machine can do.
#include <google/protobuf/stubs/common.h>

#include <cstdlib>
#include <filesystem>

#include "cli/command.h"
#include "execute/device.h"
#include "optimize/onnx/library_version.h"
#include "prove/solver/solver.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/machine.h"
#include "runtime/quantity.h"
#include "runtime/sanitizer.h"
#include "runtime/subprocess.h"
#include "runtime/table_file.h"

namespace rulemill::cli {
namespace {

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#else
  return "another compiler";
#endif
}

std::string build_kind() {
  std::string kind = "release";
#ifndef NDEBUG
  kind = "debug";
#endif
  if (runtime::address_sanitizer) kind += ", address sanitizer";
  return kind;
}

std::string protobuf_version() {
  const int version = GOOGLE_PROTOBUF_VERSION;
  return std::to_string(version / 1000000) + "." + std::to_string(version / 1000 % 1000) + "." +
         std::to_string(version % 1000);
}

std::string launcher(const Context& context) {
  if (context.world.size() > 1) return "started as one of " + std::to_string(context.world.size()) + " ranks";
  for (const char* program : {"srun", "mpirun"}) {
    if (const auto found = runtime::find_program(program); !found.empty())
      return "alone; " + found.string() + " starts several ranks";
  }
  return "alone; neither mpirun nor srun is on PATH";
}

std::string cuda() {
#ifdef RULEMILL_HAVE_CUDA
  std::string text = "compiled in";
  for (const execute::DeviceInfo& device : execute::devices()) {
    text += "; " + device.name + ", " + runtime::in_bytes(device.memory_bytes);
  }
  return text == "compiled in" ? text + "; no device here, the CPU is used" : text;
#else
  return "not compiled in; the CPU is used";
#endif
}

std::string folder_state(const std::string& folder) {
  runtime::require_writable_folder(folder);
  const auto space = std::filesystem::space(folder);
  return folder + " can be written, " + runtime::in_bytes(space.available) + " free";
}

void examine(Context& context) {
  const runtime::Machine machine = runtime::describe_machine();
  std::string features;
  for (const std::string& feature : machine.cpu_features) features += " " + feature;
  std::vector<std::pair<std::string, std::string>> facts = {
      {"rulemill", RULEMILL_VERSION},
      {"build", build_kind() + ", " + compiler()},
      {"host", machine.host},
      {"cpu", machine.cpu + " (" + (features.empty() ? "no vector unit known" : features.substr(1)) + ")"},
      {"cores", std::to_string(machine.cores) + " of " + std::to_string(machine.cores_online)},
      {"memory", runtime::in_bytes(machine.memory_bytes)},
      {"cuda", cuda()},
      {"mpi", runtime::mpi_library_version() + "; " + launcher(context)},
      {"hdf5", runtime::table_library_version()},
      {"z3", prove::Solver::version()},
      {"onnx", optimize::onnx_library_version()},
      {"protobuf", protobuf_version()},
  };
  const std::string cvc5 = runtime::find_program("cvc5").string();
  facts.emplace_back("cvc5", cvc5.empty() ? "not on PATH: certificates get no second opinion" : cvc5);
  const algebra::Library library = load_library(context.options);
  facts.emplace_back("definitions", std::to_string(library.operator_names().size()) + " operators in " +
                                        definitions_folder(context.options).string());
  if (!context.options.out.empty()) facts.emplace_back("output", folder_state(context.options.out));

  std::size_t width = 0;
  for (const auto& [name, value] : facts) width = std::max(width, name.size());
  for (const auto& [name, value] : facts) {
    context.print(name + std::string(width - name.size() + 2, ' ') + value + "\n");
    context.report[name] = value;
  }
}

}  // namespace

void add_doctor(CLI::App& app, Options& options, Command& chosen) {
  auto* doctor = app.add_subcommand("doctor", "Say what this build and this machine can do");
  add_definitions_option(*doctor, options);
  doctor->add_option("--out", options.out, "output folder to try");
  add_common_options(*doctor, options);
  doctor->callback([&chosen] { chosen = examine; });
}

}  // namespace rulemill::cli
