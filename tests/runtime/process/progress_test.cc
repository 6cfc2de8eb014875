#include "runtime/process/progress.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "runtime/files/scratch_folder.h"
#include "runtime/process/log.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

TEST_CASE("progress prints nothing if off or done quickly, and otherwise a line") {
  const ScratchFolder folder;
  std::FILE* file = std::fopen((folder / "log").c_str(), "w+");
  REQUIRE(file != nullptr);
  {
    Progress off(ProgressMode::Off, "join", 10, file);
    off.advance(10);
    Progress automatic(ProgressMode::Auto, "join", 10, file);
    automatic.advance(10);
  }
  CHECK(std::ftell(file) == 0);
  {
    Progress rewriting(ProgressMode::Rewrite, "prove", 2000, file);
    rewriting.set_note("3 refuted");
    usleep(250'000);
    rewriting.advance(1000);
  }
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  // The time is arbitrary.
  CHECK_THAT(text, Catch::Matches("[^]*prove  1,000 of 2,000 \\(50%\\), [0-9.]+ s[^]*"));
  CHECK(text.find(" left, 3 refuted\n") != std::string::npos);
  CHECK(text.back() == '\n');
}

TEST_CASE("unknown words for progress and logging are usage errors") {
  CHECK(parse_progress_mode("plain") == ProgressMode::Plain);
  CHECK_THROWS_AS(parse_progress_mode("loud"), UsageError);
  CHECK_THROWS_AS(set_up_log("verbose"), UsageError);
  CHECK_NOTHROW(set_up_log("warn", 1));
}

}  // namespace
}  // namespace rulemill::runtime
