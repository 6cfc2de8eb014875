// What the fingerprint stage has to tell, as the manifest keeps it and as ranks pass it on.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fingerprint/level_runner.h"
#include "runtime/attributes.h"

namespace rulemill::fingerprint {

struct Summary {
  bool already_done = false;
  std::uint32_t max_ops = 0;
  std::vector<LevelFigures> levels;   // from the variables, level 0
  std::vector<std::uint64_t> graphs;  // [k]: closed sets of exactly k nodes; as far as a formula is known
  std::uint64_t terms = 0;            // with the variables, under all names
  std::uint64_t rows = 0;             // of the table of terms
  std::uint64_t shards = 0;
  std::uint64_t shard_bytes = 0;
  std::uint64_t value_bytes = 0;  // values of the levels below the last, per rank
  std::string backend;            // "cpu avx512", "cuda NVIDIA …"
  double seconds = 0;
  std::uint64_t taken = 0;  // nodes of the last level that were taken from the run before; of this run alone
  /// This rank's time by step; not there if the stage was finished already.
  std::vector<std::pair<std::string, double>> steps;
  /// What this rank's device was sent and did; nothing without one.
  std::vector<std::pair<std::string, std::uint64_t>> device;
};

runtime::Attributes to_attributes(const Summary& summary);
/// In the attributes: the digest of the program that made the table.
inline constexpr const char* program_figure = "program";
/// `already_done` is set.
Summary summary_of(const runtime::Attributes& figures);

}  // namespace rulemill::fingerprint
