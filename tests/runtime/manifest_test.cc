#include "runtime/manifest.h"

#include <catch2/catch.hpp>

#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/journal.h"
#include "runtime/scratch_folder.h"
#include "tests/runtime/message.h"

namespace rulemill::runtime {
namespace {

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

TEST_CASE("a manifest with any bit changed is taken from its copy; with both changed it is empty, never believed") {
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
    write_file(folder / "manifest.copy.json", whole);
    if (!untouched(Manifest(folder.path()))) FAIL_CHECK("bit " << bit << ", the copy is whole");
    write_file(folder / "manifest.copy.json", changed);
    const Manifest read(folder.path());  // white space may have changed
    const bool empty = read.entries().empty() && !read.finished("join", "d");
    if (!empty && !untouched(read)) FAIL_CHECK("bit " << bit);
  }
}

TEST_CASE("a manifest or its copy that is damaged or gone is made again from the other one") {
  const ScratchFolder folder;
  Manifest manifest(folder.path());
  manifest.begin("join", "d");
  manifest.finish("join", {{"nodes", std::uint64_t{278}}});
  const std::string whole = read_file(folder / "manifest.json");
  for (const char* name : {"manifest.json", "manifest.copy.json"}) {
    for (const std::string& damaged : {std::string(), whole.substr(0, whole.size() / 2)}) {
      write_file(folder / name, damaged);
      Manifest(folder.path()).mend();
      CHECK(read_file(folder / name) == whole);
    }
    std::filesystem::remove(folder / name);
    Manifest(folder.path()).mend();
    CHECK(read_file(folder / name) == whole);
  }
  // A run that was killed between the two: what is newer counts.
  manifest.begin("prove", "e");
  const std::string newer = read_file(folder / "manifest.json");
  write_file(folder / "manifest.copy.json", whole);
  Manifest(folder.path()).mend();
  CHECK(read_file(folder / "manifest.copy.json") == newer);
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

}  // namespace
}  // namespace rulemill::runtime
