// What makes a killed run resumable: atomic files, the manifest, the journal, hashes, interrupts.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "runtime/atomic_file.h"
#include "runtime/checkpoint.h"
#include "runtime/error.h"
#include "runtime/file_check.h"
#include "runtime/hash.h"
#include "runtime/interrupt.h"
#include "runtime/journal.h"
#include "runtime/json_number.h"
#include "runtime/manifest.h"
#include "runtime/printable.h"
#include "tests/runtime/scratch_folder.h"

namespace rulemill::runtime {
namespace {

template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> keys(const Journal& journal) {
  std::vector<std::string> result;
  for (const auto& record : journal.records()) result.push_back(record.key);
  return result;
}

TEST_CASE("a written file replaces the old one whole, and binary content survives") {
  const ScratchFolder folder;
  const std::string binary("a\0b\n", 4);
  write_file(folder / "f", "old content that is longer");
  write_file(folder / "f", binary);
  CHECK(read_file(folder / "f") == binary);
  CHECK_FALSE(std::filesystem::exists(folder / "f.partial"));
}

TEST_CASE("files that cannot be written or read are named with the reason") {
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

TEST_CASE("a folder is held by one run at a time") {
  const ScratchFolder folder;
  {
    const FolderLock lock(folder.path());
    CHECK(contains(message_of([&] { FolderLock second(folder.path()); }), "another run is writing to this folder"));
  }
  CHECK_NOTHROW(FolderLock(folder.path()));
}

TEST_CASE("hashes are XXH3, equal whether bytes come at once or in parts") {
  CHECK(to_hex(hash64(bytes_of(""))) == "2d06800538d394c2");
  CHECK(to_hex(hash128(bytes_of(""))) == "99aa06d3014798d86001c324468d497f");
  const std::string text(5000, 'r');
  Hasher parts;
  parts.add(bytes_of(text.substr(0, 1234)));
  parts.add(bytes_of(text.substr(1234)));
  CHECK(parts.digest64() == hash64(bytes_of(text)));
  CHECK(parts.digest128() == hash128(bytes_of(text)));
  Hasher one, two;
  one.add_text("a");
  one.add_text("bc");
  two.add_text("ab");
  two.add_text("c");
  CHECK(one.digest64() != two.digest64());
}

TEST_CASE("a journal gives back its records in order") {
  const ScratchFolder folder;
  {
    Journal journal(folder / "j", "digest 1");
    CHECK(journal.records().empty());
    journal.append("first", "one");
    journal.append("second", "");
    journal.sync();
  }
  Journal journal(folder / "j", "digest 1");
  CHECK(keys(journal) == std::vector<std::string>{"first", "second"});
  CHECK(text_of(journal.records()[0].payload) == "one");
  CHECK(journal.cut_bytes() == 0);
  journal.append("third", "three");
  CHECK(keys(Journal(folder / "j", "digest 1")).size() == 3);
}

TEST_CASE("a journal cut off at any byte keeps its whole records and goes on") {
  const ScratchFolder folder;
  std::size_t header = 0;
  {
    Journal journal(folder / "j", "d");
    header = std::filesystem::file_size(folder / "j");
    journal.append("a", "payload one");
    journal.append("b", "payload two");
  }
  const std::string whole = read_file(folder / "j");
  const std::size_t record = (whole.size() - header) / 2;
  for (std::size_t size = header; size < whole.size(); ++size) {
    write_file(folder / "cut", std::string_view(whole).substr(0, size));
    {
      Journal journal(folder / "cut", "d");
      REQUIRE(journal.records().size() == (size - header) / record);
      REQUIRE(journal.cut_bytes() == (size - header) % record);
      journal.append("c", "again");
    }
    REQUIRE(keys(Journal(folder / "cut", "d")).back() == "c");
  }
}

TEST_CASE("a journal drops what follows a damaged record") {
  const ScratchFolder folder;
  {
    Journal journal(folder / "j", "d");
    journal.append("a", "payload one");
    journal.append("b", "payload two");
  }
  std::string bad = read_file(folder / "j");
  bad[bad.find("payload two") + 3] ^= 1;
  write_file(folder / "j", bad);
  const Journal journal(folder / "j", "d");
  CHECK(keys(journal) == std::vector<std::string>{"a"});
  CHECK(journal.cut_bytes() > 0);
}

TEST_CASE("a journal of something else is refused and stays as it is") {
  const ScratchFolder folder;
  { Journal(folder / "j", "digest 1").append("a", "b"); }
  const std::string before = read_file(folder / "j");
  CHECK(contains(message_of([&] { Journal(folder / "j", "digest 2"); }), "belongs to digest 1; expected digest 2"));
  CHECK(read_file(folder / "j") == before);
  write_file(folder / "text", "something else\n");
  CHECK(contains(message_of([&] { Journal(folder / "text", "d"); }), "is not a rulemill journal"));
  CHECK(read_file(folder / "text") == "something else\n");
  CHECK_THROWS_AS(Journal("/proc/rulemill", "d"), IoError);
}

TEST_CASE("a manifest remembers stages, figures and files") {
  const ScratchFolder folder;
  {
    Manifest manifest(folder.path());
    CHECK_FALSE(manifest.finished("fingerprint", "d1"));
    manifest.begin("fingerprint", "d1");
    manifest.add({"shards/0.h5", "fingerprint", 12, "abc", {{"level", std::uint64_t{3}}}});
    manifest.finish("fingerprint", {{"nodes", std::uint64_t{278}}, {"seconds", 0.5}});
    manifest.begin("join", "d2");
  }
  const Manifest manifest(folder.path());
  CHECK(manifest.finished("fingerprint", "d1"));
  CHECK_FALSE(manifest.finished("join", "d2"));
  CHECK(std::get<std::uint64_t>(manifest.figures("fingerprint").at("nodes")) == 278);
  CHECK(std::get<double>(manifest.figures("fingerprint").at("seconds")) == 0.5);
  REQUIRE(manifest.find("shards/0.h5") != nullptr);
  CHECK(manifest.find("shards/0.h5")->checksum == "abc");
  CHECK(manifest.entries("join").empty());
  CHECK(contains(message_of([&] { manifest.check_files("fingerprint"); }), "is listed in manifest.json"));
  std::filesystem::create_directory(folder / "shards");
  write_file(folder / "shards/0.h5", "short");
  CHECK(contains(message_of([&] { manifest.check_files("fingerprint"); }), "has 5 bytes; manifest.json says 12"));
}

TEST_CASE("a manifest with any bit changed is refused or empty, never believed") {
  const ScratchFolder folder;
  {
    Manifest manifest(folder.path());
    manifest.begin("join", "d");
    manifest.add({"a", "join", 1, "x", {{"rows", std::uint64_t{12}}}});
    manifest.finish("join", {{"nodes", std::uint64_t{278}}});
  }
  const std::string whole = read_file(folder / "manifest.json");
  const auto untouched = [](const Manifest& read) {
    const ManifestEntry* entry = read.find("a");
    return entry != nullptr && entry->attributes.contains("rows") && read.finished("join", "d") &&
           std::get<std::uint64_t>(read.figures("join").at("nodes")) == 278;
  };
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string changed = whole;
    changed[bit / 8] ^= static_cast<char>(1 << bit % 8);
    write_file(folder / "manifest.json", changed);
    const Manifest read(folder.path());  // white space may have changed
    const bool empty = read.entries().empty() && !read.finished("join", "d");
    if (!empty && !untouched(read)) FAIL_CHECK("bit " << bit);
  }
}

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

TEST_CASE("pipes and devices are neither read nor replaced, and JSON nested without end is refused with its place") {
  const ScratchFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(contains(message_of([&] { read_file(folder / "pipe"); }), "cannot be read: it is not a regular file"));
  CHECK(contains(message_of([&] { read_file("/dev/zero"); }), "cannot be read: it is not a regular file"));
  CHECK(contains(message_of([&] { write_file(folder / "pipe", "x"); }), "cannot be written: it is not a regular file"));
  CHECK(contains(message_of([&] { parse_json("\n " + std::string(1'000'000, '['), "deep"); }),
                 "deep:2:102: is nested more"));
  CHECK(parse_json("[\"[[[[\", 1]", "text") == Json{"[[[[", 1});
}

TEST_CASE("a number that does not fit is refused, not wrapped") {
  CHECK(whole<std::uint8_t>(Json(255)) == 255);
  CHECK(whole<std::int64_t>(Json(-3)) == -3);
  CHECK(whole_list<std::uint32_t>(Json::parse("[0, 4294967295]")) == std::vector<std::uint32_t>{0, 4294967295u});
  for (const char* text : {"256", "-1", "1.5", "1e26", "18446744073709551616", "\"7\"", "[7]", "null"}) {
    INFO(text);
    CHECK_THROWS_AS(whole<std::uint8_t>(Json::parse(text)), Json::exception);
  }
  CHECK_THROWS_AS(whole_list<std::uint8_t>(Json::parse("[1, 256]")), Json::exception);
  CHECK_THROWS_AS(whole_list<std::uint8_t>(Json::parse("7")), Json::exception);
}

TEST_CASE("what is shown of bad input is one short line") {
  CHECK(printable("a\tb\x1b[31m\x7f\u0085ä") == "a?b?[31m???ä");
  const std::string cut = printable(std::string(100'000, 'x') + "end", 90);
  CHECK(cut.size() < 100);
  CHECK(contains(cut, "x ... x"));
  CHECK(contains(cut, "end"));
}

TEST_CASE("a manifest refuses to mix results of different inputs, naming both digests") {
  const ScratchFolder folder;
  Manifest manifest(folder.path());
  manifest.begin("join", "aaaa");
  const std::string message = message_of([&] { (void)Manifest(folder.path()).finished("join", "bbbb"); });
  CHECK(contains(message, "(digest aaaa, now bbbb)"));
  CHECK_THROWS_AS(manifest.begin("join", "bbbb"), InputError);
}

TEST_CASE("a stage that was not finished starts without its old files") {
  const ScratchFolder folder;
  Manifest manifest(folder.path());
  manifest.begin("fingerprint", "d");
  manifest.add({"a", "fingerprint", 1, "x", {}});
  manifest.begin("fingerprint", "d");
  CHECK(manifest.entries().empty());
}

TEST_CASE("a foreign or broken manifest is refused with its place") {
  const ScratchFolder folder;
  write_file(folder / "manifest.json", "{\n  \"format\": oops\n}\n");
  CHECK(contains(message_of([&] { Manifest(folder.path()); }), "manifest.json:2:13: is not JSON here"));
  write_file(folder / "manifest.json", "{\"format\": \"something\", \"version\": 1}");
  CHECK(contains(message_of([&] { Manifest(folder.path()); }), "is not a rulemill manifest"));
  write_file(folder / "manifest.json", "[]");
  CHECK_THROWS_AS(Manifest(folder.path()), InputError);
  write_file(folder / "manifest.json", "{\"format\": \"rulemill manifest\", \"version\": 9}");
  CHECK(contains(message_of([&] { Manifest(folder.path()); }), "has version 9; expected 2"));
}

TEST_CASE("whatever bytes change, journals and manifests are read or refused, never anything else") {
  const ScratchFolder folder;
  Manifest manifest(folder.path());
  manifest.begin("join", "d");
  manifest.add({"a", "join", 1, "x", {{"share", 0.5}}});
  manifest.finish("join", {{"nodes", std::uint64_t{278}}});
  {
    Journal journal(folder / "j", "d");
    for (int i = 0; i < 20; ++i)
      journal.append("key " + std::to_string(i), std::string(static_cast<std::size_t>(i), 'p'));
  }
  const std::string json = read_file(folder / "manifest.json");
  const std::string log = read_file(folder / "j");
  std::uint64_t state = 20261121;
  const auto next = [&] { return state = hash64(bytes_of(std::vector<std::uint64_t>{state})); };
  const auto mutated = [&](std::string text) {
    for (std::uint64_t changes = 1 + next() % 4; changes > 0; --changes) {
      const std::size_t at = next() % text.size();
      if (next() % 3 == 0)
        text.erase(at, 1 + next() % 8);
      else
        text[at] = static_cast<char>(next());
    }
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    INFO("round " << round);
    write_file(folder / "manifest.json", mutated(json));
    try {
      const Manifest read(folder.path());
      CHECK(read.entries().size() <= 1);
    } catch (const InputError& error) {
      CHECK(contains(error.what(), "manifest.json"));
    }
    write_file(folder / "j", mutated(log));
    try {
      const Journal read(folder / "j", "d");
      CHECK(read.records().size() <= 20);
    } catch (const InputError& error) {
      CHECK(contains(error.what(), "/j"));
    }
  }
}

TEST_CASE("a signal is noticed at the next poll and ends the run as resumable") {
  clear_interrupt();
  install_interrupt_handlers();
  CHECK_NOTHROW(throw_if_interrupted("here"));
  ::kill(::getpid(), SIGUSR1);
  CHECK(interrupted());
  try {
    throw_if_interrupted("stage join");
    FAIL("not interrupted");
  } catch (const Interrupted& error) {
    CHECK(error.exit_code() == 4);
    CHECK(contains(error.what(), "stage join: stopped by signal 10"));
  }
  clear_interrupt();
}

}  // namespace
}  // namespace rulemill::runtime
