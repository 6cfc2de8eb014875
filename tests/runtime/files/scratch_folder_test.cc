#include "runtime/files/scratch_folder.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>

using rulemill::runtime::ScratchFolder;

namespace {

namespace fs = std::filesystem;

/// Makes the folder look as if it had been made two minutes ago.
void make_old(const fs::path& folder) {
  fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::minutes(2));
}

fs::path make_folder(const fs::path& path) {
  fs::create_directory(path);
  std::ofstream(path / "content") << "text";
  return path;
}

}  // namespace

TEST_CASE("a scratch folder is removed with its content") {
  fs::path path;
  {
    const ScratchFolder folder;
    path = make_folder(folder / "inside").parent_path();
    CHECK(fs::exists(path / "inside" / "content"));
  }
  CHECK(!fs::exists(path));
}

TEST_CASE("a scratch folder that a killed program left is removed by the next one") {
  const ScratchFolder parent;
  const fs::path abandoned = make_folder(parent / ".rulemill-abandoned"), fresh = make_folder(parent / ".rulemill-new"),
                 foreign = make_folder(parent / "rulemill-results");
  const ScratchFolder in_use(parent.path());
  for (const fs::path& folder : {abandoned, foreign, in_use.path()}) make_old(folder);
  const ScratchFolder next(parent.path());
  CHECK(!fs::exists(abandoned));
  CHECK(fs::exists(fresh));
  CHECK(fs::exists(foreign));
  CHECK(fs::exists(in_use.path()));
}
