#include "runtime/files/table_file.h"

#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <ctime>
#include <fstream>
#include <numeric>
#include <thread>

#include "runtime/files/atomic_file.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"
#include "tests/runtime/message.h"

namespace rulemill::runtime {
namespace {

const TableSchema schema{"test rows", 3};

/// Writes a table with a column of every element type. 300,000 rows make several chunks.
TableSummary write_sample(const std::filesystem::path& path, std::uint64_t rows) {
  std::vector<std::uint32_t> ids(rows);
  std::iota(ids.begin(), ids.end(), 7U);
  std::vector<std::uint64_t> prints(2 * rows);
  for (std::size_t i = 0; i < prints.size(); ++i) prints[i] = i * 0x9e3779b97f4a7c15U;
  TableWriter writer(schema);
  writer.column("id", ids);
  writer.column("fingerprint", prints, 2, 0);
  writer.column("rank", std::vector<std::uint8_t>(rows, 4));
  writer.column("kind", std::vector<std::uint16_t>(rows, 400));
  writer.column("delta", std::vector<std::int64_t>(rows, -5));
  writer.column("cost", std::vector<double>(rows, 0.25));
  writer.attribute("profile", "a digest");
  writer.attribute("empty", "");
  writer.attribute("seed", std::uint64_t{17});
  writer.attribute("share", 0.5);
  return writer.commit(path);
}

TEST_CASE("all rows or some rows of a table can be read back") {
  const ScratchFolder folder;
  const auto path = folder / "a.h5";
  const TableSummary summary = write_sample(path, 300'000);
  CHECK(summary.rows == 300'000);
  CHECK(summary.bytes == std::filesystem::file_size(path));

  const TableReader reader(path, schema);
  CHECK(reader.rows() == 300'000);
  CHECK(reader.checksum() == summary.checksum);
  CHECK(reader.columns().size() == 6);
  CHECK(reader.width("fingerprint") == 2);
  CHECK(reader.text("profile") == "a digest");
  CHECK(reader.text("empty").empty());
  CHECK(reader.number("seed") == 17);
  CHECK(std::get<double>(reader.attributes().at("share")) == 0.5);
  CHECK(reader.read<std::uint32_t>("id").back() == 300'006);
  CHECK(reader.read<std::int64_t>("delta")[1000] == -5);
  CHECK(reader.read_rows<std::uint64_t>("fingerprint", 200'000, 1) ==
        std::vector<std::uint64_t>{400'000 * 0x9e3779b97f4a7c15U, 400'001 * 0x9e3779b97f4a7c15U});
  CHECK(reader.read_rows<std::uint32_t>("id", 300'000, 0).empty());
  CHECK_NOTHROW(reader.verify());
}

TEST_CASE("a table may have no rows") {
  const ScratchFolder folder;
  write_sample(folder / "none.h5", 0);
  const TableReader reader(folder / "none.h5", schema);
  CHECK(reader.rows() == 0);
  CHECK(reader.read<double>("cost").empty());
  CHECK_NOTHROW(reader.verify());
}

TEST_CASE("equal content gives equal bytes at any time") {
  const ScratchFolder folder;
  write_sample(folder / "a.h5", 1000);
  for (const std::time_t written = std::time(nullptr); std::time(nullptr) == written;) usleep(1000);
  write_sample(folder / "b.h5", 1000);
  CHECK(read_file(folder / "a.h5") == read_file(folder / "b.h5"));
}

TEST_CASE("threads write tables at the same time") {
  const ScratchFolder folder;
  write_sample(folder / "alone.h5", 20'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) write_sample(folder / (std::to_string(t) + ".h5"), 20'000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) CHECK(read_file(folder / (std::to_string(t) + ".h5")) == read_file(folder / "alone.h5"));
}

TEST_CASE("another schema or version is rejected") {
  const ScratchFolder folder;
  write_sample(folder / "a.h5", 10);
  CHECK(message_of([&] {
          TableReader(folder / "a.h5", TableSchema{"shards", 3});
        }).find("is a table of test rows, version 3; expected a rulemill table of shards, version 3") !=
        std::string::npos);
  CHECK_THROWS_AS(TableReader(folder / "a.h5", TableSchema{"test rows", 4}), InputError);
}

TEST_CASE("reading a missing column or one of another type is an error") {
  const ScratchFolder folder;
  write_sample(folder / "a.h5", 10);
  const TableReader reader(folder / "a.h5", schema);
  CHECK_THROWS_AS(reader.read<double>("absent"), InputError);
  CHECK(message_of([&] { reader.read<double>("id"); }).find("is of type u32; expected f64") != std::string::npos);
}

TEST_CASE("a truncated table is rejected") {
  const ScratchFolder folder;
  write_sample(folder / "a.h5", 5000);
  const std::string whole = read_file(folder / "a.h5");
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{100}, std::size_t{512}, whole.size() / 2, whole.size() - 1}) {
    write_file(folder / "cut.h5", std::string_view(whole).substr(0, size));
    CHECK_THROWS_AS(TableReader(folder / "cut.h5", schema, TableCheck::Size), InputError);
  }
}

TEST_CASE("a flipped bit anywhere is detected") {
  const ScratchFolder folder;
  write_sample(folder / "a.h5", 2000);
  const std::string whole = read_file(folder / "a.h5");
  for (std::size_t at = 3; at < whole.size(); at += whole.size() / 50 + 1) {
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 16);
    // The rest of the header is unused.
    if (at > 100 && at < 512) continue;
    write_file(folder / "bad.h5", bad);
    INFO("byte " << at);
    CHECK_THROWS_AS(TableReader(folder / "bad.h5", schema), InputError);
  }
}

TEST_CASE("a changed table with a matching header fails its content checksum") {
  const ScratchFolder folder;
  write_sample(folder / "a.h5", 50);
  std::string bad = read_file(folder / "a.h5");
  const auto stored = bad.find("a digest");
  REQUIRE(stored != std::string::npos);
  bad[stored] = 'b';
  write_file(folder / "bad.h5", bad);
  const TableReader reader(folder / "bad.h5", schema, TableCheck::Size);
  CHECK(reader.text("profile") == "b digest");
  CHECK(message_of([&] { reader.verify(); }).find("is damaged: its content hashes to") != std::string::npos);
}

TEST_CASE("files that are not tables are rejected, and a missing file is an IoError") {
  const ScratchFolder folder;
  write_file(folder / "text", std::string(2000, 'x'));
  CHECK(message_of([&] {
          TableReader(folder / "text", schema);
        }).find("text: is not a rulemill table; expected a rulemill table of test rows, version 3") !=
        std::string::npos);
  write_file(folder / "hdf5", "\x89HDF\r\n\x1a\n" + std::string(2000, '\0'));
  CHECK_THROWS_AS(TableReader(folder / "hdf5"), InputError);
  CHECK_THROWS_AS(TableReader(folder / "absent"), IoError);
  CHECK_THROWS_AS(TableReader(folder.path()), InputError);
}

TEST_CASE("a table that cannot be written leaves no file") {
  const ScratchFolder folder;
  write_file(folder / "file", "no folder");
  CHECK_THROWS_AS(write_sample(folder / "file" / "a.h5", 10), IoError);

  // A file size limit makes write() fail in the middle, as a full disk does.
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = message_of([&] { write_sample(folder / "a.h5", 100'000); });
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(message == (folder / "a.h5").string() + ": cannot be written: File too large");
  CHECK_FALSE(std::filesystem::exists(folder / "a.h5"));
  CHECK_FALSE(std::filesystem::exists(folder / "a.h5.partial"));
}

TEST_CASE("a full disk is reported and leaves no file") {
  const ScratchFolder folder;
  const auto disk = folder / "disk";
  std::filesystem::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0) {
    WARN("SKIPPED: mounting a small tmpfs is not permitted here");
    return;
  }
  const std::string message = message_of([&] { write_sample(disk / "a.h5", 100'000); });
  const bool empty = std::filesystem::is_empty(disk);
  umount(disk.c_str());
  CHECK(message == (disk / "a.h5").string() + ": cannot be written: No space left on device");
  CHECK(empty);
}

}  // namespace
}  // namespace rulemill::runtime
