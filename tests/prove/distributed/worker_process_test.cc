#include "prove/distributed/worker_process.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

/// Returns the reason why a worker process that runs the shell script cannot start.
std::string start_failure(const std::string& script) {
  ProverFixture fixture;
  WorkerProcessOptions options;
  options.command = {"/bin/sh", "-c", script};
  WorkerProcess worker(fixture.library, options);
  try {
    worker.start({});
  } catch (const runtime::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a worker process that is killed while it starts is started again") {
  const runtime::ScratchFolder folder;
  const std::string first_only = "mkdir " + (folder / "started").string() + " && kill -9 $$; exit 3";
  CHECK_THAT(start_failure(first_only), Catch::Contains("exit code 3"));
}

TEST_CASE("a worker process that is always killed while it starts is an error after three starts") {
  const runtime::ScratchFolder folder;
  const std::string log = (folder / "starts").string();
  CHECK_THAT(start_failure("echo >> " + log + "; kill -9 $$"),
             Catch::Contains("cannot start") && Catch::Contains("signal 9"));
  std::ifstream file(log);
  CHECK(std::distance(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()) == 3);
}
