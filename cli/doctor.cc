// `rulemill doctor`: the capabilities of this build and this machine.
#include <google/protobuf/stubs/common.h>

#include <cstdlib>
#include <filesystem>

#include "cli/command.h"
#include "execute/gpu/gpu_evaluator.h"
#include "optimize/onnx/format/model.h"
#include "prove/certificate/check.h"
#include "prove/solver/z3_session.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/table_file.h"
#include "runtime/process/machine.h"
#include "runtime/process/sanitizer.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/error.h"
#include "runtime/text/quantity.h"

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

std::string build_type() {
  std::string kind = "release";
#ifndef NDEBUG
  kind = "debug";
#endif
  if (runtime::has_address_sanitizer) kind += ", address sanitizer";
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
      return "one rank; " + found.string() + " can start several";
  }
  return "one rank; neither mpirun nor srun is on PATH";
}

/// A node of another name than its host, as emulated nodes and some containers have; empty for other machines.
std::string node_of_other_name(const std::string& host) {
  const char* node = std::getenv("SLURMD_NODENAME");
  if (node == nullptr || host.substr(0, host.find('.')) == node) return "";
  return std::string("; node ") + node + " has the host name " + host +
         ": if nodes share that name and /dev/shm, Open MPI needs OMPI_MCA_btl=self,tcp";
}

std::string cuda() {
  if (!execute::has_cuda()) return "not compiled in; using the CPU";
  std::string text = "compiled in";
  for (const execute::GpuInfo& device : execute::available_gpus()) {
    text += "; " + device.name + ", " + runtime::format_bytes(device.memory_bytes);
  }
  if (text != "compiled in") return text;
  const std::string problem = execute::gpu_problem();
  return text + "; " + (problem.empty() ? "no GPU found" : problem) + ", using the CPU";
}

std::string folder_state(const std::string& folder) {
  runtime::require_writable_folder(folder);
  const auto space = std::filesystem::space(folder);
  return folder + " is writable, " + runtime::format_bytes(space.available) + " free";
}

void show_capabilities(Context& context) {
  const runtime::Machine machine = runtime::describe_machine();
  std::string features;
  for (const std::string& feature : machine.cpu_features) features += " " + feature;
  std::vector<std::pair<std::string, std::string>> facts = {
      {"rulemill", RULEMILL_VERSION},
      {"build", build_type() + ", " + compiler()},
      {"host", machine.host},
      {"cpu", machine.cpu + " (" + (features.empty() ? "no known vector extension" : features.substr(1)) + ")"},
      {"cores", std::to_string(machine.cores) + " of " + std::to_string(machine.cores_online)},
      {"memory", runtime::format_bytes(machine.memory_bytes)},
      {"cuda", cuda()},
      {"mpi", runtime::mpi_library_version() + "; " + launcher(context) + node_of_other_name(machine.host)},
      {"hdf5", runtime::table_library_version()},
      {"z3", prove::Z3Session::version()},
      {"onnx", optimize::onnx_library_version()},
      {"protobuf", protobuf_version()},
  };
  const std::string cvc5 = prove::find_cvc5().string();
  facts.emplace_back("cvc5",
                     cvc5.empty() ? "neither beside rulemill nor on PATH; `check --cvc5` is not available" : cvc5);
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
  auto* doctor = app.add_subcommand("doctor", "Show the capabilities of this build and this machine");
  add_definitions_option(*doctor, options);
  options.files.writes(doctor->add_option("--out", options.out, "output folder to check for write access"),
                       PathKind::Folder);
  add_common_options(*doctor, options);
  doctor->callback([&chosen] { chosen = show_capabilities; });
}

}  // namespace rulemill::cli
