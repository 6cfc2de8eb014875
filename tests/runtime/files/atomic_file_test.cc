#include "runtime/files/atomic_file.h"

#include <sys/stat.h>

#include <cerrno>

#include <catch2/catch.hpp>

#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"
#include "tests/runtime/message.h"

namespace rulemill::runtime {
namespace {

TEST_CASE("a written file replaces the old one completely and keeps binary content") {
  const ScratchFolder folder;
  const std::string binary("a\0b\n", 4);
  write_file(folder / "f", "old content that is longer");
  write_file(folder / "f", binary);
  CHECK(read_file(folder / "f") == binary);
  CHECK_FALSE(std::filesystem::exists(folder / "f.partial"));
}

TEST_CASE("errors of writing and reading name the file and the reason") {
  const ScratchFolder folder;
  CHECK(contains(message_of([&] { write_file("/proc/rulemill", "x"); }), "/proc/rulemill: cannot be written: "));
  CHECK(contains(message_of([&] { read_file(folder / "absent"); }), "cannot be read: No such file or directory"));
  CHECK(contains(message_of([&] { read_file(folder.path()); }), "cannot be read: Is a directory"));
  write_file(folder / "file", "x");
  CHECK_THROWS_AS(require_writable_folder(folder / "file" / "below"), IoError);
  CHECK_THROWS_AS(require_writable_folder(folder / "file"), IoError);
  CHECK_THROWS_AS(require_writable_folder("/proc/rulemill"), IoError);
  CHECK_NOTHROW(require_writable_folder(folder / "a/b/c"));
  CHECK(std::filesystem::is_empty(folder / "a/b/c"));
}

TEST_CASE("files are synced with the storage unless that is switched off") {
  CHECK(sync_file(-1) == EBADF);
  set_file_sync(false);
  CHECK(sync_file(-1) == 0);
  set_file_sync(true);
  CHECK(sync_file(-1) == EBADF);
}

TEST_CASE("only one run at a time can lock a folder") {
  const ScratchFolder folder;
  {
    const FolderLock lock(folder.path());
    CHECK(contains(message_of([&] { FolderLock second(folder.path()); }), "another run is writing to this folder"));
  }
  CHECK_NOTHROW(FolderLock(folder.path()));
}

TEST_CASE("pipes and devices are not read") {
  const ScratchFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(contains(message_of([&] { read_file(folder / "pipe"); }), "cannot be read: it is not a regular file"));
  CHECK(contains(message_of([&] { read_file("/dev/zero"); }), "cannot be read: it is not a regular file"));
}

}  // namespace
}  // namespace rulemill::runtime
