#include "runtime/files/stage.h"

#include <catch2/catch.hpp>

#include "runtime/files/atomic_file.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

using OldFiles = Stage::OldFiles;

void run(const std::filesystem::path& folder, const Attributes& statistics) {
  const Communicator self = Communicator::self();
  Stage stage(folder, "join", self);
  REQUIRE_FALSE(stage.begin("digest", OldFiles::Discard));
  stage.write("candidates", "abc");
  CHECK(stage.finish(statistics) == statistics);
}

TEST_CASE("a finished stage returns its statistics instead of beginning again") {
  const ScratchFolder folder;
  const Attributes statistics{{"count", std::uint64_t{3}}, {"seconds", 1.5}};
  run(folder.path(), statistics);
  const Communicator self = Communicator::self();
  CHECK(Stage(folder.path(), "join", self).begin("digest", OldFiles::Keep) == statistics);
  CHECK_THROWS_AS(Stage(folder.path(), "join", self).begin("another digest", OldFiles::Keep), InputError);
}

TEST_CASE("a finished stage begins again if a file is damaged or its statistics are not final") {
  const ScratchFolder folder;
  const Communicator self = Communicator::self();
  run(folder.path(), {});
  const auto is_final = [](const Attributes& statistics) { return !statistics.empty(); };
  CHECK_FALSE(Stage(folder.path(), "join", self).begin("digest", OldFiles::Discard, is_final));
  run(folder.path(), {});
  write_file(folder / "candidates", "abd");
  Stage stage(folder.path(), "join", self);
  CHECK_FALSE(stage.begin("digest", OldFiles::Keep));
  CHECK(stage.kept_files().empty());
}

TEST_CASE("a file that is written in chunks is the concatenation and is intact") {
  const ScratchFolder folder;
  const Communicator self = Communicator::self();
  {
    Stage stage(folder.path(), "join", self);
    REQUIRE_FALSE(stage.begin("digest", OldFiles::Discard));
    stage.write("candidates", std::vector<ByteView>{bytes_of("a"), {}, bytes_of("bc")});
    stage.finish({});
  }
  CHECK(read_file(folder / "candidates") == "abc");
  CHECK(Stage(folder.path(), "join", self).begin("digest", OldFiles::Keep));
}

TEST_CASE("an unfinished stage keeps its intact files") {
  const ScratchFolder folder;
  const Communicator self = Communicator::self();
  {
    Stage stage(folder.path(), "join", self);
    REQUIRE_FALSE(stage.begin("digest", OldFiles::Keep));
    stage.write("one", "1");
    stage.write("two", "2");
    stage.manifest()->save();
  }
  write_file(folder / "two", "3");
  {
    Stage stage(folder.path(), "join", self);
    CHECK_FALSE(stage.begin("digest", OldFiles::Keep));
    CHECK(stage.kept_files() == std::set<std::string>{"one"});
  }
  Stage stage(folder.path(), "join", self);
  CHECK_FALSE(stage.begin("digest", OldFiles::Discard));
  CHECK(stage.kept_files().empty());
}

}  // namespace
}  // namespace rulemill::runtime
