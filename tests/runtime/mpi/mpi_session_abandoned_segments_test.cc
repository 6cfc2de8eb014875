#include "runtime/mpi/mpi_session.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>

#include "runtime/files/scratch_folder.h"
#include "runtime/process/descriptor.h"

using namespace rulemill::runtime;

namespace {

namespace fs = std::filesystem;

fs::path make_file(const fs::path& path, std::chrono::minutes age) {
  std::ofstream(path) << std::string(4096, 'x');
  fs::last_write_time(path, fs::file_time_type::clock::now() - age);
  return path;
}

}  // namespace

TEST_CASE("only old segments that no process has mapped are removed") {
  const ScratchFolder folder;
  const std::chrono::minutes old(20), fresh(1);
  const fs::path abandoned = make_file(folder / "vader_segment.host.0.1.0", old),
                 of_open_mpi_5 = make_file(folder / "sm_segment.host.0.1.0", old),
                 used = make_file(folder / "vader_segment.host.0.2.0", old),
                 starting = make_file(folder / "vader_segment.host.0.3.0", fresh),
                 foreign = make_file(folder / "sem.other", old);
  void* memory = nullptr;
  {
    const Descriptor opened(::open(used.c_str(), O_RDONLY | O_CLOEXEC));
    memory = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, opened.get(), 0);
  }
  REQUIRE(memory != MAP_FAILED);
  remove_abandoned_segments(folder.path());
  ::munmap(memory, 4096);
  CHECK(!fs::exists(abandoned));
  CHECK(!fs::exists(of_open_mpi_5));
  CHECK(fs::exists(used));
  CHECK(fs::exists(starting));
  CHECK(fs::exists(foreign));
}
