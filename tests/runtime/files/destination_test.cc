#include "runtime/files/destination.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "runtime/files/atomic_file.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/process/descriptor.h"
#include "runtime/text/error.h"
#include "tests/runtime/message.h"

namespace rulemill::runtime {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a file is written through links, which stay") {
  const ScratchFolder folder;
  fs::create_directory(folder / "below");
  fs::create_symlink("below/file", folder / "link");
  fs::create_symlink("link", folder / "outer");
  write_file(folder / "outer", "new");  // the file does not exist yet
  CHECK(read_file(folder / "below" / "file") == "new");
  write_file(folder / "link", "newer");
  CHECK(read_file(folder / "below" / "file") == "newer");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(fs::is_symlink(folder / "outer"));
  CHECK(std::distance(fs::directory_iterator(folder / "below"), {}) == 1);
}

TEST_CASE("links in a circle are an error") {
  const ScratchFolder folder;
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  CHECK(contains(message_of([&] { write_file(folder / "a", "x"); }), "a: cannot be written: Too many levels"));
}

TEST_CASE("a pipe is written to and stays") {
  const ScratchFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("pipe", folder / "link");
  std::string received(4, ' ');
  std::thread reader([&] {
    const Descriptor pipe(::open((folder / "pipe").c_str(), O_RDONLY));
    REQUIRE(::read(pipe.get(), received.data(), received.size()) == 4);
  });
  write_file(folder / "link", "text");
  reader.join();
  CHECK(received == "text");
  CHECK(fs::is_fifo(folder / "pipe"));
  CHECK(fs::is_symlink(folder / "link"));
}

TEST_CASE("an open file descriptor is written to where it stands") {
  const ScratchFolder folder;
  write_file(folder / "file", "before ");
  const Descriptor file(::open((folder / "file").c_str(), O_WRONLY | O_APPEND));
  for (const std::string place : {"/dev/fd/", "/proc/self/fd/"}) {
    const Destination to = destination_of(place + std::to_string(file.get()));
    CHECK(to.kind == Destination::Kind::Descriptor);
    CHECK(to.descriptor == file.get());
    write_file(place + std::to_string(file.get()), "and ");
  }
  CHECK(read_file(folder / "file") == "before and and ");
  CHECK(destination_of("-").is_standard_output());
  CHECK(destination_of("/dev/stdout").is_standard_output());
  CHECK_FALSE(destination_of("./-").is_standard_output());
  CHECK_FALSE(destination_of("/dev/stderr").is_standard_output());
}

TEST_CASE("paths name the same file by identity, or by place if it does not exist") {
  const ScratchFolder folder;
  fs::create_directory(folder / "below");
  fs::create_directory_symlink("below", folder / "other");
  write_file(folder / "file", "x");
  fs::create_hard_link(folder / "file", folder / "hard");
  fs::create_symlink("file", folder / "soft");
  const auto same = [&](const std::string& a, const std::string& b) {
    return is_same_file(destination_of(folder.path() / a), destination_of(folder.path() / b));
  };
  CHECK(same("file", "hard"));
  CHECK(same("file", "soft"));
  CHECK(same("file", "below/../file"));
  CHECK(same("below/new", "other/new"));
  CHECK(same("absent/new", "absent/./new"));
  CHECK_FALSE(same("file", "new"));
  CHECK_FALSE(same("below/new", "below/newer"));
  CHECK_FALSE(is_same_file(destination_of("/dev/null"), destination_of("/dev/null")));
}

}  // namespace
}  // namespace rulemill::runtime
