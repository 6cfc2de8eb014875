// Options of proofs, which run in worker processes: this binary with a hidden subcommand.
#pragma once

#include "cli/command.h"
#include "prove/distributed/worker_process.h"

namespace rulemill::cli {

struct ProofOptions {
  std::uint32_t memory = 4096;  // MiB per worker process; 0: no limit
  double timeout = 60;          // processor seconds per proof
};

/// --proof-memory, --proof-timeout
void add_proof_options(CLI::App& app, ProofOptions& proofs);
prove::WorkerProcessOptions worker_options(const Options& options, const ProofOptions& proofs);

}  // namespace rulemill::cli
