#include "algebra/rules/rule_set_file.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <random>

#include "algebra/rules/rule_set_format.h"
#include "algebra/terms/rule_text.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"
#include "tests/shipped_operators.h"

namespace rulemill::algebra {
namespace {

using Catch::Contains;

/// A database file with a few rules.
struct FileFixture : runtime::ScratchFolder {
  Library library = shipped_operators();
  std::filesystem::path file = path() / "rules.rmdb";

  std::string content() {
    TermBank bank(library);
    Symbols symbols;
    RuleSet set;
    set.provenance.seeds = {7};
    set.funnel = {{"nodes", 3}};
    for (const Rule& rule : parse_rules("rule twice(x[m, n])\n  relu(relu(x)) => relu(x)\n"
                                        "rule merge(x[m, k], a[k, n], b[k, l])\n"
                                        "  let s = split(matmul(x, concat(a, b; axis=1)); axis=1, at=n)\n"
                                        "  matmul(x, a), matmul(x, b) => s.first, s.second\n"
                                        "rule packs(x[d..., m], y[d..., m])\n  add(x, y) => add(y, x)\n",
                                        "test", library, bank, symbols)) {
      RuleRecord& record = set.rules.emplace_back();
      record.rule = rule;
      record.certificate = {Certificate::Kind::Definitions, "proof of " + rule.id};
    }
    return serialize(set, bank, symbols);
  }

  /// Returns the database as bytes, or the error, if it is read as a whole.
  std::string read_whole() {
    return result_of(
        [&](TermBank& bank, Symbols& symbols) { return load_rule_set(file, library, bank, symbols).rules; });
  }
  /// The same if its rules are read one by one.
  std::string read_one_by_one() {
    return result_of([&](TermBank& bank, Symbols& symbols) {
      const RuleSetFile rules(file, library);
      std::vector<RuleRecord> records;
      for (std::size_t i = 0; i < rules.size(); ++i) {
        const RuleSetFile::Record record = rules.read(i);
        records.push_back(parse_stored_rule(record.rule, library, bank, symbols));
        CHECK(records.back().rule.id == rules.id(i));
        CHECK(records.back().certificate == record.certificate);
        CHECK(rules.certificate_kind(i) == record.certificate.kind);
      }
      return records;
    });
  }

 private:
  std::string result_of(const std::function<std::vector<RuleRecord>(TermBank&, Symbols&)>& read) {
    TermBank bank(library);
    Symbols symbols;
    try {
      RuleSet set;
      set.rules = read(bank, symbols);
      return serialize(set, bank, symbols);
    } catch (const runtime::Error& error) {
      return error.what();
    }
  }
};

std::string with_checksum(const std::string& bytes) { return bytes + checksum_field(bytes); }

}  // namespace

TEST_CASE("rules that are read one by one are those of the whole file") {
  FileFixture fixture;
  runtime::write_file(fixture.file, fixture.content());
  CHECK(fixture.read_one_by_one() == fixture.read_whole());
  const RuleSetFile rules(fixture.file, fixture.library);
  CHECK(rules.size() == 3);
  CHECK(rules.provenance().seeds == std::vector<std::uint64_t>{7});
  CHECK(rules.read(0).rule.digested == std::vector<std::string>{"relu"});
  CHECK(rules.read(1).rule.place == fixture.file.string() + ": rule 2 (merge)");
}

TEST_CASE("a damaged database has the same error if its rules are read one by one") {
  FileFixture fixture;
  const std::string whole = fixture.content();
  const std::string content = whole.substr(0, whole.size() - checksum_bytes);
  std::mt19937_64 random(1);
  std::size_t accepted = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string damaged = content;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    if (i % 10 == 0) damaged.resize(random() % damaged.size());
    std::ofstream(fixture.file, std::ios::binary)  // without waiting for the disk
        << (i % 7 == 0 ? damaged + whole.substr(content.size()) : with_checksum(damaged));
    const std::string expected = fixture.read_whole();
    INFO(i);
    REQUIRE(fixture.read_one_by_one() == expected);
    accepted += expected.starts_with(fixture.file.string()) ? 0 : 1;
  }
  CHECK(accepted > 0);
  CHECK(accepted < 1000);
}

TEST_CASE("fields are read in any order, and no rule is hidden from the reader") {
  FileFixture fixture;
  proto::RuleSet message;
  const std::string whole = fixture.content();
  REQUIRE(message.ParseFromString(whole));
  message.clear_checksum();
  proto::RuleSet rules, rest = message;
  *rules.mutable_rules() = message.rules();
  rest.clear_rules();
  const std::string rule = message.rules(0).SerializeAsString(), length(1, static_cast<char>(rule.size()));
  REQUIRE(rule.size() < 128);

  runtime::write_file(fixture.file, with_checksum(rules.SerializeAsString() + rest.SerializeAsString()));
  CHECK(fixture.read_one_by_one() == fixture.read_whole());
  CHECK(RuleSetFile(fixture.file, fixture.library).size() == 3);
  // A tag of several bytes; the last one has bits beyond the 32 that protobuf reads.
  for (const std::string tag : {"\x9a\x80\x80\x80\x00", "\x9a\x80\x80\x80\x10", "\x9a\x80\x80\x80\x80\x00"}) {
    const std::string padded(tag.c_str(), tag.size() + (tag.back() == '\x80' ? 1 : 0));
    runtime::write_file(fixture.file, with_checksum(message.SerializeAsString() + padded + length + rule));
    const std::string one_by_one = fixture.read_one_by_one();
    if (one_by_one != fixture.read_whole()) CHECK_THAT(one_by_one, Contains("is not a rule database"));
  }
}

TEST_CASE("a database that is no regular file, or is changed while it is read, is an error") {
  FileFixture fixture;
  CHECK_THROWS_AS(RuleSetFile(fixture.path(), fixture.library), runtime::IoError);
  CHECK_THROWS_AS(RuleSetFile(fixture.file, fixture.library), runtime::IoError);
  runtime::write_file(fixture.file, fixture.content());
  const RuleSetFile rules(fixture.file, fixture.library);
  std::filesystem::resize_file(fixture.file, 10);
  CHECK_THROWS_WITH(rules.read(2), Contains("was changed while it was read"));
}

}  // namespace rulemill::algebra
