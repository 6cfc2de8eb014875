#include <algorithm>
#include <catch2/catch.hpp>

#include "prove/certificate/certificate.h"
#include "prove/certificate/check.h"
#include "prove/certificate/replay.h"
#include "prove/solver/lemma_scheme.h"
#include "rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

/// The rules of the data files as a database with certificates, and one rule derived from two of them.
struct Database : Court {
  algebra::RuleSet rules;

  explicit Database(std::size_t step = 1) {
    const std::vector<algebra::Rule> all = Court::rules("tests/prove/proved.rules");
    for (std::size_t i = 0; i < all.size(); i += step) add(all[i]);
    certify(rules, library, bank, symbols, {});
  }

  void add(const algebra::Rule& untyped) {
    const Verdict verdict = prover.prove(untyped);
    INFO(untyped.id << ": " << in_words(verdict));
    REQUIRE(std::holds_alternative<Proved>(verdict));
    algebra::RuleRecord record;
    record.rule = std::get<Proved>(verdict).typed.rule;
    record.rule.tier = algebra::Tier::Core;
    record.certificate.kind = algebra::Certificate::Kind::Definitions;
    rules.rules.push_back(std::move(record));
  }

  void add_derived() {
    algebra::RuleRecord record;
    record.rule = typed(R"(rule relu_twice_of_sum(x[m, n], y[m, n], z[m, n])
      add(add(x, y), add(z, x)) => add(x, add(y, add(z, x))))");
    record.certificate = {algebra::Certificate::Kind::Derivation,
                          "add_associates: x := x, y := y, z := add(z, x); d := m, d2 := n\n"};
    for (const algebra::RuleRecord& core : rules.rules) {
      if (core.rule.id == "add_associates") record.certificate.text = derivation_of(core.rule);
    }
    rules.rules.push_back(record);
  }

  /// The line of the one instance, in whatever names the core rule has for its two sizes.
  std::string derivation_of(const algebra::Rule& core) const {
    return "add_associates: x := x, y := y, z := add(z, x); " + symbols.to_string(core.shapes[0][0]) + " := m, " +
           symbols.to_string(core.shapes[0][1]) + " := n\n";
  }

  algebra::Rule typed(const std::string& text) {
    return std::get<algebra::TypedRule>(algebra::infer_types(rule(text), bank, symbols)).rule;
  }

  CheckReport checked(bool second = false) {
    CheckOptions options;
    if (second) options.cvc5 = find_cvc5();
    return check(rules, library, bank, symbols, options);
  }
};

void require_found(Database& database, const std::string& what) {
  const CheckReport report = database.checked();
  REQUIRE(report.findings.size() >= 1);
  INFO(report.findings[0].what);
  CHECK(report.findings[0].what.find(what) != std::string::npos);
}

}  // namespace

TEST_CASE("certificates of proved rules are replayed by both solvers") {
  Database database;
  const CheckReport report = database.checked(true);
  for (const CheckFinding& finding : report.findings) FAIL_CHECK(finding.rule << ": " << finding.what);
  CHECK(report.by_definitions == database.rules.rules.size());
  CHECK(report.median_bytes < 2000);
  WARN(report.by_definitions << " certificates, " << report.obligations << " obligations, median "
                             << report.median_bytes << " bytes; proved again in " << report.seconds_rebuild
                             << " s, replayed by Z3 in " << report.seconds_z3 << " s, by cvc5 in "
                             << report.seconds_cvc5 << " s");
}

TEST_CASE("a certificate is the same text whenever it is made") {
  Court court;
  const std::string statement =
      "rule statement(x[m, k], a[k, n], b[k, n])\n  add(matmul(x, a), matmul(x, b))\n"
      "  => matmul(x, add(a, b))\n";
  Z3Session one, other;
  const auto first = certify_by_definitions(statement, court.library, {}, one);
  const auto second = certify_by_definitions(statement, court.library, {}, other);
  REQUIRE(first);
  CHECK(to_string(*first) == to_string(*second));
  CHECK(to_string(parse_certificate(to_string(*first), "test")) == to_string(*first));
}

TEST_CASE("a derived rule's certificate is checked by its instances") {
  Database database(4);
  database.add(database.rule("rule add_associates(x:2, y:2, z:2) add(add(x, y), z) => add(x, add(y, z))"));
  for (auto& record : database.rules.rules) record.certificate.text.clear();
  database.rules.rules.erase(database.rules.rules.begin(), database.rules.rules.end() - 1);
  database.add_derived();
  certify(database.rules, database.library, database.bank, database.symbols, {});
  const CheckReport report = database.checked(true);
  for (const CheckFinding& finding : report.findings) FAIL_CHECK(finding.rule << ": " << finding.what);
  CHECK(report.by_derivation == 1);

  SECTION("an instance taken away") {
    std::string& text = database.rules.rules.back().certificate.text;
    text.erase(text.find("; use "), text.find('\n', text.find("; use ")) + 1 - text.find("; use "));
    require_found(database, "do not imply");
  }
  SECTION("a rule that is not there") {
    database.rules.rules.erase(database.rules.rules.begin());
    require_found(database, "no rule that is proved from the definitions");
  }
}

TEST_CASE("a tampered certificate, rule, condition or definition is caught") {
  Database database(9);
  REQUIRE(database.checked().findings.empty());
  // A rule whose proof needs the solver, in full.
  auto found = std::ranges::find_if(database.rules.rules, [](const algebra::RuleRecord& r) {
    return r.certificate.text.find("(- 1)") != std::string::npos;
  });
  REQUIRE(found != database.rules.rules.end());
  algebra::RuleRecord& record = *found;
  std::string& text = record.certificate.text;

  SECTION("a certificate cut short") {
    text.resize(text.size() / 2);
    require_found(database, "certificate of " + record.rule.id);
  }
  SECTION("an assertion added that makes everything unsatisfiable") {
    const std::size_t at = text.find("(check-sat)");
    REQUIRE(at != std::string::npos);
    text.insert(at, "(assert false)\n");
    require_found(database, "not in its certificate");
  }
  SECTION("a number changed") {
    const std::size_t at = text.find("(- 1)");
    REQUIRE(at != std::string::npos);
    text.replace(at, 5, "(- 2)");
    require_found(database, "not in its certificate");
  }
  SECTION("an obligation taken away") {
    const std::size_t begin = text.find("(push 1)");
    text.erase(begin, text.find("(pop 1)\n", begin) + 8 - begin);
    CHECK_FALSE(database.checked().findings.empty());
  }
  SECTION("another rule under the same certificate") {
    std::swap(record.rule.source, record.rule.target);
    require_found(database, "states another rule");
  }
  SECTION("a rule and its certificate's statement, both") {
    const std::string statement = "rule statement(a[n, n], b[n, n])\n  matmul(a, b)\n  => matmul(b, a)\n";
    record.rule = database.typed(statement);
    CertificateText certificate = parse_certificate(text, "test");
    certificate.statement = statement;
    certificate.definitions = {{"matmul", database.library.digest("matmul")}};
    text = to_string(certificate);
    require_found(database, "cannot be proved again");
  }
  SECTION("a digest") {
    const std::size_t at = text.find("; definition ");
    text[text.find('\n', at) - 1] ^= 1;
    require_found(database, "another definition");
  }
  SECTION("no certificate at all") {
    record.certificate = {};
    require_found(database, "has no certificate");
  }
}

TEST_CASE("a condition taken from a conditional rule is missed by its certificate") {
  Database database(30);
  database.add(
      database.rule("rule ungrouped(x[n, c, h, w], k[f, c, r, s], l[e, c, r, s])\n"
                    "  concat(conv2d(x, k), conv2d(x, l); axis=1) => conv2d(x, concat(k, l; axis=0))\n  when f = e"));
  certify(database.rules, database.library, database.bank, database.symbols, {});
  CHECK(database.checked().findings.empty());
  algebra::RuleRecord& record = database.rules.rules.back();
  record.rule = database.typed(
      "rule statement(x[n, q*g, h, w], k[q*m, g, r, s], l[q*m, g, r, s])\n"
      "  concat(conv2d(x, k), conv2d(x, l); axis=1) => conv2d(x, concat(k, l; axis=0))");
  require_found(database, "states another rule");
}

TEST_CASE("an equation that follows from no theorem is no lemma") {
  algebra::Symbols symbols;
  const Poly n(symbols.index("n")), d(symbols.size("d")), g(symbols.size("g"));
  const Poly q = symbols.floor_div(n, d);
  CHECK(scheme_of({{}, {false, n - d * q}}, symbols));
  CHECK(scheme_of({{{false, n - g * d}}, {false, g * (q - g)}}, symbols));
  CHECK_FALSE(scheme_of({{}, {false, n - d * q - 1}}, symbols));
  CHECK_FALSE(scheme_of({{}, {false, q}}, symbols));
  CHECK_FALSE(scheme_of({{{false, n}}, {false, q - 1}}, symbols));
  CHECK_FALSE(scheme_of({{{false, n - g * d}}, {false, q - g - 1}}, symbols));
}
