// The check of a database on disk, here by a worker in this process, and of the same rules in memory.
#include "prove/core/audit.h"

#include <catch2/catch.hpp>

#include "prove/certificate/check.h"
#include "runtime/files/scratch_folder.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;
using algebra::Certificate;

namespace {

/// A database of a rule, of a general rule, and of a rule that follows from a specialization of it.
struct CheckFixture : ProverFixture {
  algebra::RuleSet rules;
  runtime::ScratchFolder folder;

  CheckFixture() {
    add("rule twice(x[m, n])\n  relu(relu(x)) => relu(x)", {Certificate::Kind::Definitions, ""});
    add("rule sums(x[d...], y[d...], z[d...])\n  add(add(x, y), z) => add(x, add(y, z))",
        {Certificate::Kind::Definitions, ""});
    add("rule at_two(a[m, n], b[m, n], c[m, n])\n  add(add(a, b), c) => add(a, add(b, c))",
        {Certificate::Kind::Derivation, "sums@d=2: x := a, y := b, z := c; d_1 := m, d_2 := n\n"});
    certify(rules, library, bank, symbols, {});
    REQUIRE(rules.rules.size() == 3);
  }

  void add(const std::string& text, Certificate certificate) {
    algebra::RuleRecord& record = rules.rules.emplace_back();
    record.rule = std::get<algebra::TypedRule>(algebra::infer_types(rule(text), bank, symbols)).rule;
    record.certificate = std::move(certificate);
  }

  CheckReport on_disk() {
    const std::filesystem::path path = folder / "rules.rmdb";
    algebra::save(rules, bank, symbols, path);
    const algebra::RuleSetFile file(path, library);
    const runtime::Communicator self = runtime::Communicator::self();
    TaskScheduler scheduler(self, library, {});
    DatabaseCheck result;
    scheduler.run_collective(
        [&] { result = check_database(file, library, scheduler, {}, runtime::ProgressMode::Off); });
    return std::get<CheckReport>(std::move(result));
  }

  /// The findings of both checks, which are the same.
  std::vector<std::string> findings() {
    const CheckReport whole = prove::check(rules, library, bank, symbols, {}), report = on_disk();
    CHECK(report.by_definitions == whole.by_definitions);
    CHECK(report.by_derivation == whole.by_derivation);
    CHECK(report.obligations == whole.obligations);
    CHECK(report.identities == whole.identities);
    CHECK(report.evaluated == whole.evaluated);
    CHECK(report.median_bytes == whole.median_bytes);
    std::vector<std::string> result, expected;
    for (const CheckFinding& finding : report.findings) result.push_back(finding.rule + ": " + finding.what);
    for (const CheckFinding& finding : whole.findings) expected.push_back(finding.rule + ": " + finding.what);
    CHECK(result == expected);
    return result;
  }
  std::string& certificate(std::size_t rule) { return rules.rules.at(rule).certificate.text; }
};

}  // namespace

TEST_CASE("a database is checked on disk as in memory") {
  CheckFixture fixture;
  CHECK(fixture.findings().empty());
  const auto terms = fixture.bank.mark();
  CHECK(prove::check(fixture.rules, fixture.library, fixture.bank, fixture.symbols, {}).by_derivation == 1);
  CHECK(fixture.bank.mark().terms == terms.terms);  // nothing is left behind
  CHECK(fixture.bank.mark().nodes == terms.nodes);

  SECTION("two rules of one name") {
    fixture.rules.rules.push_back(fixture.rules.rules[0]);
    CHECK(fixture.findings() == std::vector<std::string>{"twice: two rules have this name"});
  }
  SECTION("another rule with the same certificate") {
    std::swap(fixture.rules.rules[1].rule.source, fixture.rules.rules[1].rule.target);
    const auto found = fixture.findings();  // the derived rule uses the rule of the record
    REQUIRE(found.size() == 1);
    CHECK(found[0] == "sums: its certificate states another rule");
  }
  SECTION("names of premises that do not exist, or are malformed") {
    for (const char* other :
         {"sums@d=3", "sums@d=99999999999999999999", "sums@e=2", "none@d=2", "twice", "sums@", ""}) {
      INFO(other);
      const std::string kept = fixture.certificate(2);
      fixture.certificate(2).replace(kept.find("sums@d=2"), 8, other);
      CHECK(fixture.findings().size() == 1);
      fixture.certificate(2) = kept;
    }
    fixture.certificate(2).replace(fixture.certificate(2).find("sums@d=2:"), 9, "sums@d=2 ");
    CHECK(fixture.findings().size() == 1);
  }
  SECTION("a premise whose certificate is malformed") {
    fixture.certificate(1).resize(fixture.certificate(1).size() / 2);
    REQUIRE(fixture.findings().size() == 1);
  }
  SECTION("no certificate, and one of another kind") {
    fixture.rules.rules[0].certificate = {};
    fixture.rules.rules[2].certificate.kind = Certificate::Kind::Definitions;
    CHECK(fixture.findings() ==
          std::vector<std::string>{"twice: has no certificate",
                                   "at_two: its certificate is of another kind than the rule's record says"});
  }
}
