#include "runtime/checkpoint.h"

#include <catch2/catch.hpp>

#include "runtime/atomic_file.h"
#include "runtime/scratch_folder.h"

namespace rulemill::runtime {
namespace {

TEST_CASE("pieces of an unfinished stage are there again, but for those that were damaged") {
  const ScratchFolder folder;
  const Communicator self = Communicator::self();
  Manifest manifest(folder.path());
  manifest.begin("join", "d");
  {
    Checkpoint checkpoint(folder.path(), "join", &manifest, self);
    checkpoint.save("one", bytes_of("first"));
    checkpoint.save("two", bytes_of("second"));
  }
  std::string two = read_file(folder / "join.pieces/two");
  two.back() ^= 1;
  write_file(folder / "join.pieces/two", two);
  Manifest again(folder.path());
  Checkpoint checkpoint(folder.path(), "join", &again, self);
  CHECK(checkpoint.has("one"));
  CHECK_FALSE(checkpoint.has("two"));
  CHECK(text_of(checkpoint.load("one")) == "first");
  checkpoint.clear();
  CHECK_FALSE(checkpoint.has("one"));
  CHECK(again.entries().empty());
  CHECK_FALSE(std::filesystem::exists(folder / "join.pieces"));
}

}  // namespace
}  // namespace rulemill::runtime
