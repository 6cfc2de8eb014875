#include "runtime/files/manifest.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "runtime/files/atomic_file.h"
#include "runtime/files/journal.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"
#include "tests/runtime/message.h"

namespace rulemill::runtime {
namespace {

/// Writes a file without fsync, unlike write_file: the loops below write thousands of files.
void overwrite(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST_CASE("a reopened manifest has its stages, statistics and files") {
  const ScratchFolder folder;
  {
    Manifest manifest(folder.path());
    CHECK_FALSE(manifest.is_finished("fingerprint", "d1"));
    manifest.begin("fingerprint", "d1");
    manifest.add({"shards/0.h5", "fingerprint", 12, "abc", {{"level", std::uint64_t{3}}}});
    manifest.finish("fingerprint", {{"nodes", std::uint64_t{278}}, {"seconds", 0.5}});
    manifest.begin("join", "d2");
  }
  const Manifest manifest(folder.path());
  CHECK(manifest.is_finished("fingerprint", "d1"));
  CHECK_FALSE(manifest.is_finished("join", "d2"));
  CHECK(std::get<std::uint64_t>(manifest.statistics("fingerprint").at("nodes")) == 278);
  CHECK(std::get<double>(manifest.statistics("fingerprint").at("seconds")) == 0.5);
  REQUIRE(manifest.find("shards/0.h5") != nullptr);
  CHECK(manifest.find("shards/0.h5")->checksum == "abc");
  CHECK(manifest.entries("join").empty());
  CHECK(contains(message_of([&] { manifest.check_files("fingerprint"); }), "is listed in manifest.json"));
  std::filesystem::create_directory(folder / "shards");
  write_file(folder / "shards/0.h5", "short");
  CHECK(contains(message_of([&] { manifest.check_files("fingerprint"); }),
                 "has 5 bytes; expected 12 as in manifest.json"));
}

TEST_CASE("if any bit of a manifest changes, its copy is read; if both change, the manifest is empty") {
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
    return entry != nullptr && entry->attributes.contains("rows") && read.is_finished("join", "d") &&
           std::get<std::uint64_t>(read.statistics("join").at("nodes")) == 278;
  };
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string changed = whole;
    changed[bit / 8] ^= static_cast<char>(1 << bit % 8);
    overwrite(folder / "manifest.json", changed);
    overwrite(folder / "manifest.copy.json", whole);
    if (!untouched(Manifest(folder.path()))) FAIL_CHECK("bit " << bit << ", the copy is whole");
    overwrite(folder / "manifest.copy.json", changed);
    const Manifest read(folder.path());  // white space may have changed
    const bool empty = read.entries().empty() && !read.is_finished("join", "d");
    if (!empty && !untouched(read)) FAIL_CHECK("bit " << bit);
  }
}

TEST_CASE("a corrupt or missing manifest or copy is recreated from the other one") {
  const ScratchFolder folder;
  Manifest manifest(folder.path());
  manifest.begin("join", "d");
  manifest.finish("join", {{"nodes", std::uint64_t{278}}});
  const std::string whole = read_file(folder / "manifest.json");
  for (const char* name : {"manifest.json", "manifest.copy.json"}) {
    for (const std::string& damaged :
         {std::string(), whole.substr(0, whole.size() / 2), std::string(whole.size(), '\0'), std::string("no JSON"),
          std::string("[]"), std::string("\xff\xfe{}")}) {
      write_file(folder / name, damaged);
      Manifest(folder.path()).repair();
      CHECK(read_file(folder / name) == whole);
    }
    std::filesystem::remove(folder / name);
    Manifest(folder.path()).repair();
    CHECK(read_file(folder / name) == whole);
  }
  // A run that was killed between writing the two files: the newer one is used.
  manifest.begin("prove", "e");
  const std::string newer = read_file(folder / "manifest.json");
  write_file(folder / "manifest.copy.json", whole);
  Manifest(folder.path()).repair();
  CHECK(read_file(folder / "manifest.copy.json") == newer);
}

TEST_CASE("a manifest is empty if neither it nor its copy is JSON, and rejected if one is JSON of another program") {
  const ScratchFolder folder;
  for (const std::string& damaged : {std::string("{\n  \"format\": \"ru"), std::string("\xff\xfe{}"), std::string()}) {
    INFO(damaged);
    overwrite(folder / "manifest.json", damaged);
    overwrite(folder / "manifest.copy.json", damaged);
    CHECK(Manifest(folder.path()).inputs_digest("join").empty());
    std::filesystem::remove(folder / "manifest.json");
    Manifest manifest(folder.path());
    manifest.begin("join", "d");
    CHECK(Manifest(folder.path()).inputs_digest("join") == "d");
    overwrite(folder / "manifest.json", "{}");
    overwrite(folder / "manifest.copy.json", damaged);
    CHECK_THROWS_AS(Manifest(folder.path()), InputError);
  }
}

TEST_CASE("a manifest rejects other inputs with a message that has both digests") {
  const ScratchFolder folder;
  Manifest manifest(folder.path());
  manifest.begin("join", "aaaa");
  const std::string message = message_of([&] { (void)Manifest(folder.path()).is_finished("join", "bbbb"); });
  CHECK(contains(message, "(digest aaaa, now bbbb)"));
  CHECK_THROWS_AS(manifest.begin("join", "bbbb"), InputError);
}

TEST_CASE("an unfinished stage that begins again has no files") {
  const ScratchFolder folder;
  Manifest manifest(folder.path());
  manifest.begin("fingerprint", "d");
  manifest.add({"a", "fingerprint", 1, "x", {}});
  manifest.begin("fingerprint", "d");
  CHECK(manifest.entries().empty());
}

TEST_CASE("a file that is not a manifest or has another version is rejected with its location") {
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

TEST_CASE("journals and manifests with random changes are either read or rejected with InputError") {
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
    overwrite(folder / "manifest.json", mutated(json));
    try {
      const Manifest read(folder.path());
      CHECK(read.entries().size() <= 1);
    } catch (const InputError& error) {
      CHECK(contains(error.what(), "manifest.json"));
    }
    overwrite(folder / "j", mutated(log));
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
