#include "cli/run/proof_options.h"

#include <cmath>

#include "cli/number_option.h"
#include "runtime/mpi/thread_pool.h"
#include "runtime/process/subprocess.h"

namespace rulemill::cli {
namespace {

constexpr const char* subcommand = "proof-worker";

}  // namespace

void add_proof_options(CLI::App& app, ProofOptions& proofs) {
  app.add_option("--proof-memory", proofs.memory, "memory limit of each worker process, MiB; 0: no limit")
      ->check(whole_number(0, 1 << 24));
  app.add_option("--proof-timeout", proofs.timeout,
                 "processor time limit of one proof, seconds; a proof that exceeds it is tried once more")
      ->check(real_number(0.001, 1e6));
}

prove::WorkerProcessOptions worker_options(const Options& options, const ProofOptions& proofs) {
  prove::WorkerProcessOptions result;
  result.command = {runtime::current_executable().string(), subcommand};
  result.definitions = std::filesystem::absolute(definitions_folder(options));
  result.workers = runtime::ThreadPool().threads();
  result.memory_bytes = std::uint64_t{proofs.memory} << 20;
  result.timeout = std::chrono::milliseconds(std::llround(proofs.timeout * 1e3));
  return result;
}

void add_proof_worker(CLI::App& app, Command& chosen) {
  auto* worker = app.add_subcommand(subcommand, "");
  worker->group("");  // hidden: started by its parent process only
  worker->callback([&chosen] { chosen = [](Context&) { prove::serve_tasks(); }; });
}

}  // namespace rulemill::cli
