// Run by mpirun with any number of ranks: the last level has the same fingerprints whether one process evaluates the
// levels or several ranks share the work and the values of a node. Prints "levels: N ok".
#include <cstdio>
#include <vector>

#include "enumerate/profile/profile_reader.h"
#include "fingerprint/level_runner.h"
#include "runtime/mpi/mpi_session.h"
#include "runtime/text/error.h"

namespace {

using namespace rulemill;

std::vector<fingerprint::OrbitFingerprint> last_level(const enumerate::Profile& profile, algebra::Library& library,
                                                      const runtime::Communicator& communicator) {
  fingerprint::LevelRunner::Options options;
  options.threads = 1;
  options.device = fingerprint::DeviceChoice::Cpu;
  fingerprint::LevelRunner runner(profile, library, options, communicator);
  runner.prepare(profile.max_ops);
  fingerprint::EvaluatedRows rows;
  const std::uint64_t count = runner.statistics().back().rows;
  rows.resize(0, count, runner.enumerator().arity_stride());
  runner.evaluate(0, count, rows);
  return rows.fingerprints;
}

bool same(const std::vector<fingerprint::OrbitFingerprint>& a, const std::vector<fingerprint::OrbitFingerprint>& b) {
  if (a.size() != b.size() || a.empty()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].minimum != b[i].minimum || a[i].renaming != b[i].renaming || a[i].symmetries != b[i].symmetries)
      return false;
  }
  return true;
}

void check(const runtime::Communicator& world) {
  algebra::Library library = algebra::Library::load("data/operators");
  const auto profile = enumerate::load_profile("data/profiles/quickstart.toml", library);
  const std::vector<fingerprint::OrbitFingerprint> expected =
      last_level(profile, library, runtime::Communicator::self());
  for (const int ranks_per_node : {1, 2, 64}) {
    if (!same(last_level(profile, library, world.with_ranks_per_node(ranks_per_node)), expected))
      throw runtime::Error("nodes of " + std::to_string(ranks_per_node) + " ranks",
                           "the fingerprints differ from those of one process");
  }
}

}  // namespace

int main() {
  const runtime::MpiSession session;
  try {
    check(session.world());
    session.world().barrier();
    if (session.world().is_root()) std::printf("levels: %d ok\n", session.world().size());
  } catch (const runtime::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    session.abort(error.exit_code());
    return error.exit_code();
  }
  return 0;
}
