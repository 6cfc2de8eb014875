// Times enumeration and fingerprints of a profile in memory, without shards: enumeration_bench [PROFILE [MAX_OPS
// [THREADS [all]]]]
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fingerprint/level_runner.h"
#include "runtime/error.h"
#include "runtime/machine.h"

namespace {

using rulemill::fingerprint::LevelRunner;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int run(int argc, char** argv) {
  const auto start = std::chrono::steady_clock::now();
  rulemill::algebra::Library library = rulemill::algebra::Library::load("data/operators");
  const char* path = argc > 1 ? argv[1] : "data/profiles/reference.toml";
  const auto profile = rulemill::enumerate::Profile::load(path, library);
  const auto last = argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : profile.max_ops;
  LevelRunner::Options options;
  options.threads = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 0;
  options.all_terms = argc > 4 && std::strcmp(argv[4], "all") == 0;
  LevelRunner runner(profile, library, options);
  runner.prepare(last);
  const double prepared = seconds_since(start);

  const std::uint64_t rows = runner.figures().back().rows;
  constexpr std::uint64_t chunk = 1 << 15;
  std::atomic<std::uint64_t> products{0};
  runner.workers().run((rows + chunk - 1) / chunk, [&](std::size_t c, unsigned) {
    rulemill::fingerprint::RowRange range;
    const std::uint64_t first = c * chunk, end = std::min(rows, first + chunk);
    range.resize(first, end - first + 8, runner.enumerator().arity_stride());  // outputs of a node at the end
    products += runner.evaluate(first, end, range);
  });
  const double total = seconds_since(start);
  for (std::size_t level = 0; level < runner.figures().size(); ++level) {
    const auto& f = runner.figures()[level];
    std::printf("level %zu: %llu nodes, %llu terms, %llu new values\n", level, static_cast<unsigned long long>(f.nodes),
                static_cast<unsigned long long>(f.terms), static_cast<unsigned long long>(f.new_values));
  }
  std::printf(
      "%u threads: levels below the last and plans %.3f s, last level %.3f s, %.2f G multiply-adds at %.2f G/s, "
      "%zu signatures, peak %.0f MB\n",
      runner.workers().threads(), prepared, total - prepared, static_cast<double>(products) * 1e-9,
      static_cast<double>(products) * 1e-9 / (total - prepared), runner.enumerator().signatures().size(),
      static_cast<double>(rulemill::runtime::peak_memory_bytes()) / 1e6);
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
