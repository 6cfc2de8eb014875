// Times enumeration and fingerprints of a profile in memory, without shards: enumeration_bench [PROFILE [MAX_OPS
// [THREADS [all]]]]
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "enumerate/profile/profile_reader.h"
#include "fingerprint/level_runner.h"
#include "runtime/process/machine.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"
#include "runtime/text/quantity.h"

namespace {

using rulemill::fingerprint::LevelRunner;

int run(int argc, char** argv) {
  const rulemill::runtime::Stopwatch watch;
  rulemill::algebra::Library library = rulemill::algebra::Library::load("data/operators");
  const char* path = argc > 1 ? argv[1] : "data/profiles/reference.toml";
  const auto profile = rulemill::enumerate::load_profile(path, library);
  const auto last = argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : profile.max_ops;
  LevelRunner::Options options;
  options.threads = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 0;
  options.all_terms = argc > 4 && std::strcmp(argv[4], "all") == 0;
  LevelRunner runner(profile, library, options);
  runner.prepare(last);
  const double prepared = watch.seconds();

  const std::uint64_t rows = runner.statistics().back().rows;
  constexpr std::uint64_t chunk = 1 << 15;
  std::atomic<std::uint64_t> products{0};
  runner.thread_pool().run((rows + chunk - 1) / chunk, [&](std::size_t c, unsigned) {
    rulemill::fingerprint::EvaluatedRows range;
    const std::uint64_t first = c * chunk, end = std::min(rows, first + chunk);
    range.resize(first, end - first + 8, runner.enumerator().arity_stride());  // including the outputs of the last node
    products += runner.evaluate(first, end, range);
  });
  const double total = watch.seconds();
  for (std::size_t level = 0; level < runner.statistics().size(); ++level) {
    const auto& f = runner.statistics()[level];
    std::printf("level %zu: %llu nodes, %llu terms, %llu new classes\n", level,
                static_cast<unsigned long long>(f.nodes), static_cast<unsigned long long>(f.terms),
                static_cast<unsigned long long>(f.new_classes));
  }
  std::printf(
      "%u threads: lower levels and programs %.3f s, last level %.3f s, %.2f G multiply-adds at %.2f G/s, "
      "%zu signatures, peak %s\n",
      runner.thread_pool().threads(), prepared, total - prepared, static_cast<double>(products) * 1e-9,
      static_cast<double>(products) * 1e-9 / (total - prepared), runner.enumerator().signatures().size(),
      rulemill::runtime::format_bytes(rulemill::runtime::peak_memory_bytes()).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const rulemill::runtime::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
