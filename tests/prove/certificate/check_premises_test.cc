#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "prove/certificate/certificate.h"
#include "prove/certificate/check.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

/// Two rules proved from the definitions, and one derived from a specialization of the first.
struct Premises : ProverFixture {
  algebra::RuleSet rules;

  Premises() {
    using Kind = algebra::Certificate::Kind;
    add("rule sums(x[d...], y[d...], z[d...])\n  add(add(x, y), z) => add(x, add(y, z))", {Kind::Definitions, ""});
    add("rule twice(x[d...])\n  relu(relu(x)) => relu(x)", {Kind::Definitions, ""});
    add("rule at_two(a[m, n], b[m, n], c[m, n])\n  add(add(a, b), c) => add(a, add(b, c))",
        {Kind::Derivation, "sums@d=2: x := a, y := b, z := c; d_1 := m, d_2 := n\n"});
    certify(rules, library, bank, symbols, {});
    REQUIRE(rules.rules.size() == 3);
  }

  void add(const std::string& text, algebra::Certificate certificate) {
    algebra::RuleRecord& record = rules.rules.emplace_back();
    record.rule = std::get<algebra::TypedRule>(algebra::infer_types(rule(text), bank, symbols)).rule;
    record.certificate = std::move(certificate);
  }

  std::vector<std::string> selected(const std::set<std::string>& names) const {
    std::vector<std::string> ids;
    for (const algebra::RuleRecord& record : select_with_premises(rules, names).rules) ids.push_back(record.rule.id);
    return ids;
  }

  std::vector<CheckFinding> findings(const std::set<std::string>& names) {
    return prove::check(select_with_premises(rules, names), library, bank, symbols, {}).findings;
  }
};

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("a derived rule is selected with the rules that its derivation uses") {
  Premises premises;
  CHECK(premises.selected({"at_two"}) == Ids{"sums", "at_two"});
  CHECK(premises.selected({"sums", "twice"}) == Ids{"sums", "twice"});
  CHECK(premises.selected({"sums@d=3"}) == Ids{"sums"});
  CHECK(premises.selected({"sum", "twice2"}).empty());
  CHECK(premises.findings({"at_two", "twice"}).empty());
}

TEST_CASE("all rules of a selected name are selected, so that none hides behind another's certificate") {
  Premises premises;
  premises.add("rule twice(x[m])\n  relu(x) => x", {});
  premises.add("rule hidden(x[m])\n  relu(x) => x", {});
  premises.rules.rules.back().rule.id = "sums@d=2";
  CHECK(premises.selected({"twice"}) == Ids{"twice", "twice"});
  CHECK_FALSE(premises.findings({"twice"}).empty());
  CHECK(premises.selected({"sums@d=2"}) == Ids{"sums", "sums@d=2"});
  CHECK_FALSE(premises.findings({"at_two"}).empty());
}

TEST_CASE("a selected derived rule is invalid if a rule that it uses has no certificate") {
  Premises premises;
  premises.rules.rules[0].certificate = {};
  REQUIRE_FALSE(premises.findings({"at_two"}).empty());
  CHECK(premises.findings({"at_two"})[0].rule == "sums");
  CHECK(premises.findings({"twice"}).empty());
}
