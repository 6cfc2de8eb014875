// Times definitions to shards and shards to candidates: discover_bench [PROFILE [MAX_OPS [FOLDER [THREADS [all]
// [renamings]]]]], alone or under mpirun.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "dedup/join.h"
#include "fingerprint/run.h"
#include "runtime/error.h"
#include "runtime/machine.h"

namespace {

int run(int argc, char** argv, const rulemill::runtime::Communicator& communicator) {
  const auto start = std::chrono::steady_clock::now();
  rulemill::algebra::Library library = rulemill::algebra::Library::load("data/operators");
  const auto profile = rulemill::enumerate::Profile::load(argc > 1 ? argv[1] : "data/profiles/reference.toml", library);
  rulemill::fingerprint::RunOptions options;
  if (argc > 2) options.max_ops = static_cast<std::uint32_t>(std::atoi(argv[2]));
  if (argc > 4) options.threads = static_cast<unsigned>(std::atoi(argv[4]));
  for (int i = 5; i < argc; ++i) {
    options.all_terms = options.all_terms || std::string(argv[i]) == "all";
    options.every_renaming = options.every_renaming || std::string(argv[i]) == "renamings";
  }
  const std::filesystem::path out = argc > 3 ? argv[3] : "discover_bench_out";
  const auto summary = rulemill::fingerprint::run(profile, library, out, communicator, options);
  const double fingerprinted = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto joined =
      rulemill::dedup::join(profile, library, out, summary, communicator,
                            {options.threads, options.all_terms, options.every_renaming, options.memory, 0});
  if (!communicator.is_root()) return 0;
  for (std::size_t level = 0; level < summary.levels.size(); ++level) {
    const auto& f = summary.levels[level];
    const std::uint64_t graphs = level < summary.graphs.size() ? summary.graphs[level] : 0;
    std::printf(
        "level %zu: %llu nodes, %llu orbits, %llu rows, %llu terms, %llu new values, %llu multiply-adds, %llu graphs\n",
        level, static_cast<unsigned long long>(f.nodes), static_cast<unsigned long long>(f.orbits),
        static_cast<unsigned long long>(f.rows), static_cast<unsigned long long>(f.terms),
        static_cast<unsigned long long>(f.new_values), static_cast<unsigned long long>(f.products),
        static_cast<unsigned long long>(graphs));
  }
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%s, %d ranks: %.3f s to shards, %llu shards, %.1f MB, peak %.0f MB\n", summary.backend.c_str(),
              communicator.size(), fingerprinted, number(summary.shards),
              static_cast<double>(summary.shard_bytes) / 1e6,
              static_cast<double>(rulemill::runtime::peak_memory_bytes()) / 1e6);
  std::printf("fingerprint %.3f s:", summary.seconds);
  for (const auto& [step, seconds] : summary.steps) std::printf(" %s %.3f", step.c_str(), seconds);
  std::printf("\njoin %.3f s:", joined.seconds);
  for (const auto& [step, seconds] : joined.steps) std::printf(" %s %.3f", step.c_str(), seconds);
  std::printf("; new values by level:");
  for (const std::uint64_t count : joined.new_values) std::printf(" %llu", number(count));
  const auto& f = joined.funnel;
  std::printf(
      "\n%llu terms, %llu classes, %llu pairs, %llu after renaming, %llu after shapes, %llu generalized; %llu multi, "
      "%llu generalized; %llu candidates; expected false %.2g\n",
      number(f.terms), number(f.classes), number(f.pairs), number(f.renamed), number(f.shapes), number(f.generalized),
      number(f.multi_pairs), number(f.multi_generalized), number(f.candidates), joined.expected_false);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const rulemill::runtime::MpiSession session;
  try {
    return run(argc, argv, session.world());
  } catch (const rulemill::runtime::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    session.abort(error.exit_code());
    return error.exit_code();
  }
}
