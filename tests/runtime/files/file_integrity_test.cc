#include "runtime/files/file_integrity.h"

#include <catch2/catch.hpp>

#include "runtime/files/atomic_file.h"
#include "runtime/files/scratch_folder.h"
#include "tests/runtime/message.h"

namespace rulemill::runtime {
namespace {

TEST_CASE("a file whose size or content differs from the manifest is found") {
  const ScratchFolder folder;
  Manifest manifest(folder.path());
  manifest.begin("join", "d");
  write_file(folder / "a", "content");
  manifest.add(make_manifest_entry("a", "join", bytes_of("content")));
  const Communicator self = Communicator::self();
  CHECK(find_damaged_files(folder.path(), &manifest, "join", self).empty());
  CHECK(read_verified(manifest, "a") == "content");
  write_file(folder / "a", "contant");
  CHECK(find_damaged_files(folder.path(), &manifest, "join", self) == std::vector<std::string>{"a"});
  CHECK(contains(message_of([&] { read_verified(manifest, "a"); }), "a: is damaged: its bytes hash to "));
  write_file(folder / "a", "contents");
  CHECK(contains(message_of([&] { read_verified(manifest, "a"); }), "a: has 8 bytes; expected 7 as in manifest.json"));
  std::filesystem::remove(folder / "a");
  CHECK(find_damaged_files(folder.path(), &manifest, "join", self) == std::vector<std::string>{"a"});
  CHECK(contains(message_of([&] { read_verified(manifest, "b"); }), "b: is not listed in manifest.json"));
}

}  // namespace
}  // namespace rulemill::runtime
