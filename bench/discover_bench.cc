// Times the stages fingerprint and join: discover_bench [PROFILE [MAX_OPS [FOLDER [THREADS [all] [renamings]]]]], alone
// or under mpirun. all: extend all terms; renamings: without symmetry.
#include <cstdio>
#include <cstdlib>

#include "dedup/join/join.h"
#include "enumerate/profile/profile_reader.h"
#include "fingerprint/run.h"
#include "runtime/mpi/mpi_session.h"
#include "runtime/process/machine.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"
#include "runtime/text/quantity.h"

namespace {

int run(int argc, char** argv, const rulemill::runtime::Communicator& communicator) {
  const rulemill::runtime::Stopwatch watch;
  rulemill::algebra::Library library = rulemill::algebra::Library::load("data/operators");
  const auto profile = rulemill::enumerate::load_profile(argc > 1 ? argv[1] : "data/profiles/reference.toml", library);
  rulemill::fingerprint::RunOptions options;
  if (argc > 2) options.max_ops = static_cast<std::uint32_t>(std::atoi(argv[2]));
  if (argc > 4) options.threads = static_cast<unsigned>(std::atoi(argv[4]));
  for (int i = 5; i < argc; ++i) {
    options.all_terms = options.all_terms || std::string(argv[i]) == "all";
    options.no_symmetry = options.no_symmetry || std::string(argv[i]) == "renamings";
  }
  const std::filesystem::path out = argc > 3 ? argv[3] : "discover_bench_out";
  const auto summary = rulemill::fingerprint::run(profile, library, out, communicator, options);
  const double fingerprinted = watch.seconds();
  const auto joined =
      rulemill::dedup::join(profile, library, out, summary, communicator,
                            {options.threads, options.all_terms, options.no_symmetry, options.memory, 0});
  if (!communicator.is_root()) return 0;
  for (std::size_t level = 0; level < summary.levels.size(); ++level) {
    const auto& f = summary.levels[level];
    const std::uint64_t graphs = level < summary.graphs.size() ? summary.graphs[level] : 0;
    std::printf(
        "level %zu: %llu nodes, %llu orbits, %llu rows, %llu terms, %llu new classes, %llu multiply-adds, %llu "
        "graphs\n",
        level, static_cast<unsigned long long>(f.nodes), static_cast<unsigned long long>(f.orbits),
        static_cast<unsigned long long>(f.rows), static_cast<unsigned long long>(f.terms),
        static_cast<unsigned long long>(f.new_classes), static_cast<unsigned long long>(f.products),
        static_cast<unsigned long long>(graphs));
  }
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%s, %d ranks: %.3f s to shards, %llu shards, %s, peak %s\n", summary.backend.c_str(),
              communicator.size(), fingerprinted, number(summary.shards),
              rulemill::runtime::format_bytes(summary.shard_bytes).c_str(),
              rulemill::runtime::format_bytes(rulemill::runtime::peak_memory_bytes()).c_str());
  std::printf("fingerprint %.3f s:", summary.seconds);
  for (const auto& [step, seconds] : summary.steps) std::printf(" %s %.3f", step.c_str(), seconds);
  std::printf("\njoin %.3f s:", joined.seconds);
  for (const auto& [step, seconds] : joined.steps) std::printf(" %s %.3f", step.c_str(), seconds);
  std::printf("; new classes by level:");
  for (const std::uint64_t count : joined.new_classes) std::printf(" %llu", number(count));
  const auto& f = joined.funnel;
  std::printf(
      "\n%llu terms, %llu classes, %llu pairs, %llu unique up to renaming, %llu unique up to shape, %llu generalized; "
      "%llu multi-output, "
      "%llu generalized; %llu candidates; expected false %.2g\n",
      number(f.terms), number(f.classes), number(f.pairs), number(f.unique_up_to_renaming),
      number(f.unique_up_to_shape), number(f.generalized), number(f.multi_output_pairs),
      number(f.multi_output_generalized), number(f.candidates), joined.expected_false_candidates);
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
