// Run by mpirun with any number of ranks: levels that ranks evaluate together, whose nodes hold values once, give the
// last level the fingerprints that a process alone gives it. Prints "levels: N ok".
#include <cstdio>
#include <vector>

#include "fingerprint/level_runner.h"
#include "runtime/error.h"

namespace {

using namespace rulemill;

std::vector<fingerprint::OrbitPrint> last_level(const enumerate::Profile& profile, algebra::Library& library,
                                                const runtime::Communicator& communicator) {
  fingerprint::LevelRunner::Options options;
  options.threads = 1;
  options.device = fingerprint::DeviceChoice::Cpu;
  fingerprint::LevelRunner runner(profile, library, options, communicator);
  runner.prepare(profile.max_ops);
  fingerprint::RowRange rows;
  const std::uint64_t count = runner.figures().back().rows;
  rows.resize(0, count, runner.enumerator().arity_stride());
  runner.evaluate(0, count, rows);
  return rows.prints;
}

bool same(const std::vector<fingerprint::OrbitPrint>& a, const std::vector<fingerprint::OrbitPrint>& b) {
  if (a.size() != b.size() || a.empty()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].print != b[i].print || a[i].renaming != b[i].renaming || a[i].symmetries != b[i].symmetries) return false;
  }
  return true;
}

void check(const runtime::Communicator& world) {
  algebra::Library library = algebra::Library::load("data/operators");
  const auto profile = enumerate::Profile::load("data/profiles/quickstart.toml", library);
  const std::vector<fingerprint::OrbitPrint> alone = last_level(profile, library, runtime::Communicator::self());
  for (const int ranks_each : {1, 2, 64}) {
    if (!same(last_level(profile, library, world.in_nodes_of(ranks_each)), alone))
      throw runtime::Error("nodes of " + std::to_string(ranks_each) + " ranks",
                           "other fingerprints than one process's");
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
