#include "runtime/files/journal.h"

#include <catch2/catch.hpp>

#include "runtime/files/atomic_file.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"
#include "tests/runtime/message.h"

namespace rulemill::runtime {
namespace {

std::vector<std::string> keys(const Journal& journal) {
  std::vector<std::string> result;
  for (const auto& record : journal.records()) result.push_back(record.key);
  return result;
}

TEST_CASE("a reopened journal has its records in order") {
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
  CHECK(journal.read(journal.records()[0].location) == "one");
  CHECK(journal.truncated_bytes() == 0);
  journal.append("third", "three");
  journal.flush();
  CHECK(journal.take_records().size() == 2);
  CHECK(journal.records().empty());
  CHECK(keys(Journal(folder / "j", "digest 1")).size() == 3);
}

TEST_CASE("payloads that are kept in the file can be read before and after they are written") {
  const ScratchFolder folder;
  Journal::Location one, two;
  {
    Journal journal(folder / "j", "d");
    one = journal.append("first", "payload one");
    CHECK(journal.read(one) == "payload one");
    journal.sync();
    two = journal.append("second", std::string(1 << 19, 'x'));
    CHECK(journal.read(one) == "payload one");
    CHECK(journal.read(two) == std::string(1 << 19, 'x'));
    journal.append("third", "");
  }
  const Journal journal(folder / "j", "d");
  CHECK(keys(journal) == std::vector<std::string>{"first", "second", "third"});
  CHECK(journal.records()[0].location.offset == one.offset);
  CHECK(journal.read(journal.records()[1].location) == std::string(1 << 19, 'x'));
  CHECK(journal.read(journal.records()[2].location).empty());
}

TEST_CASE("a journal that was truncated at any byte keeps its complete records and can be appended to") {
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
      REQUIRE(journal.truncated_bytes() == (size - header) % record);
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
  CHECK(journal.truncated_bytes() > 0);
}

TEST_CASE("a journal of a different owner is rejected and not changed") {
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

}  // namespace
}  // namespace rulemill::runtime
