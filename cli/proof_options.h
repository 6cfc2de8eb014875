// Proofs run in helper processes: this binary again, with a hidden subcommand. What bounds them are options.
#pragma once

#include "cli/command.h"
#include "prove/farm/worker_process.h"

namespace rulemill::cli {

struct ProofOptions {
  std::uint32_t memory = 4096;  // megabytes of a helper; 0: no limit
  double seconds = 60;          // for one proof
};

/// --proof-memory, --proof-seconds
void add_proof_options(CLI::App& app, ProofOptions& proofs);
prove::WorkerProcessOptions worker_options(const Options& options, const ProofOptions& proofs);

}  // namespace rulemill::cli
