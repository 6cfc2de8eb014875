#include "runtime/files/checkpoint.h"

#include <catch2/catch.hpp>

#include "runtime/files/atomic_file.h"
#include "runtime/files/scratch_folder.h"

namespace rulemill::runtime {
namespace {

TEST_CASE("a later run has all chunks of an unfinished stage except corrupt ones") {
  const ScratchFolder folder;
  const Communicator self = Communicator::self();
  {
    Stage stage(folder.path(), "join", self);
    REQUIRE_FALSE(stage.begin("digest", Stage::OldFiles::Keep));
    Checkpoint checkpoint(stage);
    checkpoint.save("one", bytes_of("first"));
    checkpoint.save("two", bytes_of("second"));
  }
  std::string two = read_file(folder / "join.pieces/two");
  two.back() ^= 1;
  write_file(folder / "join.pieces/two", two);
  Stage stage(folder.path(), "join", self);
  REQUIRE_FALSE(stage.begin("digest", Stage::OldFiles::Keep));
  Checkpoint checkpoint(stage);
  CHECK(checkpoint.has("one"));
  CHECK_FALSE(checkpoint.has("two"));
  CHECK(text_of(checkpoint.load("one")) == "first");
  checkpoint.clear();
  CHECK_FALSE(checkpoint.has("one"));
  CHECK(stage.manifest()->entries().empty());
  CHECK_FALSE(std::filesystem::exists(folder / "join.pieces"));
}

}  // namespace
}  // namespace rulemill::runtime
