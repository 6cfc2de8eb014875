#include "cli/proof_options.h"

#include <cmath>

#include "cli/number_option.h"
#include "runtime/subprocess.h"
#include "runtime/workers.h"

namespace rulemill::cli {
namespace {

constexpr const char* subcommand = "proof-helper";

}  // namespace

void add_proof_options(CLI::App& app, ProofOptions& proofs) {
  app.add_option("--proof-memory", proofs.memory, "megabytes for each proof helper; 0: no limit")
      ->check(whole_number(0, 1 << 24))
      ->capture_default_str();
  app.add_option("--proof-seconds", proofs.seconds, "processor time for one proof, which is tried twice")
      ->check(real_number(0.001, 1e6))
      ->capture_default_str();
}

prove::WorkerProcessOptions worker_options(const Options& options, const ProofOptions& proofs) {
  prove::WorkerProcessOptions result;
  result.command = {runtime::own_binary().string(), subcommand};
  result.definitions = std::filesystem::absolute(definitions_folder(options));
  result.helpers = runtime::Workers().threads();
  result.memory_bytes = std::uint64_t{proofs.memory} << 20;
  result.patience = std::chrono::milliseconds(std::llround(proofs.seconds * 1e3));
  return result;
}

void add_proof_helper(CLI::App& app, Command& chosen) {
  auto* helper = app.add_subcommand(subcommand, "");
  helper->group("");  // hidden: it speaks in frames with its parent
  helper->callback([&chosen] { chosen = [](Context&) { prove::serve_tasks(); }; });
}

}  // namespace rulemill::cli
