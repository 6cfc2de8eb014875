#include "runtime/file_check.h"

#include <catch2/catch.hpp>

#include "runtime/atomic_file.h"
#include "runtime/scratch_folder.h"
#include "tests/runtime/message.h"

namespace rulemill::runtime {
namespace {

TEST_CASE("files are compared with the manifest by their content") {
  const ScratchFolder folder;
  Manifest manifest(folder.path());
  manifest.begin("join", "d");
  write_file(folder / "a", "content");
  manifest.add(entry_of("a", "join", bytes_of("content")));
  const Communicator self = Communicator::self();
  CHECK(damaged_files(folder.path(), &manifest, "join", self).empty());
  CHECK(read_listed(manifest, "a") == "content");
  write_file(folder / "a", "contant");
  CHECK(damaged_files(folder.path(), &manifest, "join", self) == std::vector<std::string>{"a"});
  CHECK(contains(message_of([&] { read_listed(manifest, "a"); }), "a: is damaged: its bytes hash to "));
  write_file(folder / "a", "contents");
  CHECK(contains(message_of([&] { read_listed(manifest, "a"); }), "a: has 8 bytes; manifest.json says 7"));
  std::filesystem::remove(folder / "a");
  CHECK(damaged_files(folder.path(), &manifest, "join", self) == std::vector<std::string>{"a"});
  CHECK(contains(message_of([&] { read_listed(manifest, "b"); }), "b: is not listed in manifest.json"));
}

}  // namespace
}  // namespace rulemill::runtime
