#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "check/core_rule.h"
#include "check/proof_text.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/check.h"
#include "prove/certificate/record_check.h"
#include "prove/solver/z3_session.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"
#include "tests/prove/rule_files.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

/// Returns the line of a rule's instance at its own variables and sizes.
std::string identity_instance(const algebra::Rule& rule, const ProverFixture& fixture) {
  std::string text, separator = ": ";
  std::set<std::string> sizes;
  for (std::size_t v = 0; v < rule.variables.size(); ++v) {
    const std::string& name = fixture.bank.term(rule.variables[v]).name;
    text += separator + name + " := " + name;
    separator = ", ";
    for (const algebra::Poly& dim : rule.shapes[v]) {
      for (const algebra::Atom atom : fixture.symbols.atoms(dim)) sizes.insert(fixture.symbols.name(atom));
    }
  }
  separator = "; ";
  for (const std::string& size : sizes) {
    text += separator + size + " := " + size;
    separator = ", ";
  }
  return text + "\n";
}

/// A database of the rules of the data files, with certificates.
struct Database : ProverFixture {
  algebra::RuleSet rules;

  explicit Database(std::size_t step = 1) {
    const std::vector<algebra::Rule> all = ProverFixture::rules("tests/prove/proved.rules");
    for (std::size_t i = 0; i < all.size(); i += step) add(all[i]);
    certify(rules, library, bank, symbols, {});
  }

  void add(const algebra::Rule& untyped) {
    const Verdict verdict = prover.prove(untyped);
    INFO(untyped.id << ": " << verdict_text(verdict));
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

  /// Returns the line of the only rule instance, with the core rule's names of its two sizes.
  std::string derivation_of(const algebra::Rule& core) const {
    return "add_associates: x := x, y := y, z := add(z, x); " + symbols.to_string(core.shapes[0][0]) + " := m, " +
           symbols.to_string(core.shapes[0][1]) + " := n\n";
  }

  algebra::Rule typed(const std::string& text) {
    return std::get<algebra::TypedRule>(algebra::infer_types(rule(text), bank, symbols)).rule;
  }

  CheckReport checked(bool with_cvc5 = false) {
    CheckOptions options;
    if (with_cvc5) options.cvc5 = find_cvc5();
    return prove::check(rules, library, bank, symbols, options);
  }
};

void require_found(Database& database, const std::string& what) {
  const CheckReport report = database.checked();
  REQUIRE(report.findings.size() >= 1);
  INFO(report.findings[0].what);
  CHECK(report.findings[0].what.find(what) != std::string::npos);
}

}  // namespace

TEST_CASE("both solvers confirm the certificates of proved rules") {
  Database database;
  const CheckReport report = database.checked(true);
  for (const CheckFinding& finding : report.findings) FAIL_CHECK(finding.rule << ": " << finding.what);
  CHECK(report.by_definitions == database.rules.rules.size());
  CHECK(report.median_bytes < 2000);
  CHECK(report.evaluated == report.by_definitions);
  CHECK(report.obligations > 50);
  WARN(report.by_definitions << " certificates, " << report.obligations << " obligations, " << report.identities
                             << " identities, median " << report.median_bytes << " bytes; followed in "
                             << report.seconds_kernel << " s, evaluated in " << report.seconds_evaluate
                             << " s, replayed by Z3 in " << report.seconds_z3 << " s, by cvc5 in "
                             << report.seconds_cvc5 << " s");
}

TEST_CASE("cvc5 checks every script for every batch size") {
  Database database;
  const runtime::ScratchFolder folder;
  // A fake cvc5 that answers "sat" to the second script of each batch.
  const std::filesystem::path solver = folder / "cvc5";
  std::ofstream(solver) << "#!/bin/sh\n"
                           "awk '/^\\(echo/ { print (++n == 2 ? \"sat\" : \"unsat\"); print \"-- next --\" }' \"$4\"\n";
  std::filesystem::permissions(solver, std::filesystem::perms::owner_all);
  CheckOptions options;
  options.cvc5 = solver;
  for (const std::size_t batch : {7, 100'000}) {
    options.cvc5_scripts_per_batch = batch;
    const CheckReport report = prove::check(database.rules, database.library, database.bank, database.symbols, options);
    const std::size_t scripts = report.obligations;
    CHECK(report.findings.size() == scripts / batch + (scripts % batch >= 2 ? 1 : 0));
    for (const CheckFinding& finding : report.findings)
      CHECK(finding.what.starts_with("not confirmed by cvc5, which answers 'sat'"));
  }
}

TEST_CASE("a certificate is unchanged when it is read and written again, whatever the order of its terms") {
  Database database(1000);
  database.add(database.rule(R"(rule two_shares_of_pools(i1[n, c, h, w])
      let k = pool_kernel(; c=c*q, kernel=3)
      conv2d(conv2d(i1, concat(k, k; axis=0); act=relu), concat(k, k; axis=1))
      => conv2d(conv2d(i1, k; act=relu), add(k, k)))"));
  certify(database.rules, database.library, database.bank, database.symbols, {});
  const CheckReport report = database.checked();
  for (const CheckFinding& finding : report.findings) FAIL_CHECK(finding.rule << ": " << finding.what);
}

TEST_CASE("a certificate is deterministic") {
  ProverFixture fixture;
  const std::string statement =
      "rule statement(x[m, k], a[k, n], b[k, n])\n  add(matmul(x, a), matmul(x, b))\n"
      "  => matmul(x, add(a, b))\n";
  std::string reason;
  const auto first = certify_by_definitions(statement, fixture.library, {}, reason);
  const auto second = certify_by_definitions(statement, fixture.library, {}, reason);
  REQUIRE(first);
  CHECK(to_string(*first) == to_string(*second));
  CHECK(to_string(parse_certificate(to_string(*first), "test")) == to_string(*first));
}

TEST_CASE("a derived rule without a checkable proof is dropped, and its reason is kept") {
  Database database(1000);
  database.add_derived();
  const std::string name = database.rules.rules.back().rule.id;
  const std::size_t rules = database.rules.rules.size();
  const auto dropped = certify_with(database.rules, database.library, database.bank, database.symbols,
                                    [](std::size_t count, const auto&, const auto& take) {
                                      for (std::size_t i = 0; i < count; ++i) take(i, missing_proof("too long"));
                                    });
  REQUIRE(dropped.size() == 1);
  CHECK(dropped[0].id == name);
  CHECK(dropped[0].reason == "too long");
  CHECK(database.rules.rules.size() == rules - 1);
}

TEST_CASE("a derived rule's certificate is checked by its rule instances") {
  Database database(4);
  database.add(database.rule("rule add_associates(x:2, y:2, z:2) add(add(x, y), z) => add(x, add(y, z))"));
  for (auto& record : database.rules.rules) record.certificate.text.clear();
  database.rules.rules.erase(database.rules.rules.begin(), database.rules.rules.end() - 1);
  database.add_derived();
  certify(database.rules, database.library, database.bank, database.symbols, {});
  const CheckReport report = database.checked(true);
  for (const CheckFinding& finding : report.findings) FAIL_CHECK(finding.rule << ": " << finding.what);
  CHECK(report.by_derivation == 1);

  SECTION("a missing rule instance") {
    std::string& text = database.rules.rules.back().certificate.text;
    text.erase(text.find("; use "), text.find('\n', text.find("; use ")) + 1 - text.find("; use "));
    require_found(database, "not confirmed by Z3, which answers 'sat': the rule instances imply the rule");
  }
  SECTION("a rule instance with other sizes") {
    std::string& text = database.rules.rules.back().certificate.text;
    const std::size_t sign = text.rfind(":= ", text.find("typing"));
    text.insert(sign + 3, "2*");
    require_found(database, "the rule instances are valid");
  }
  SECTION("a missing rule") {
    database.rules.rules.erase(database.rules.rules.begin());
    require_found(database, "expected a rule proved from the definitions");
  }
}

TEST_CASE("a tampered certificate, rule, condition or definition is detected") {
  Database database(9);
  REQUIRE(database.checked().findings.empty());
  // A rule whose proof maps indices and has an obligation.
  auto found = std::ranges::find_if(database.rules.rules, [](const algebra::RuleRecord& r) {
    return r.certificate.text.find(" <- ") != std::string::npos && r.certificate.text.find(" - ") != std::string::npos;
  });
  REQUIRE(found != database.rules.rules.end());
  algebra::RuleRecord& record = *found;
  std::string& text = record.certificate.text;
  const auto erase_line = [&](std::size_t at) {
    const std::size_t begin = text.rfind('\n', at) + 1;
    text.erase(begin, text.find('\n', begin) + 1 - begin);
  };

  SECTION("a truncated certificate") {
    text.resize(text.size() / 2);
    require_found(database, "certificate of " + record.rule.id);
  }
  SECTION("a certificate of another format") {
    text.replace(text.find(" 6, by"), 2, " 5");
    require_found(database, "the certificate is of another format; prove its rule again");
  }
  SECTION("a line that would leave a solver scope") {
    text.insert(text.find("output\n"), "(assert true)(pop 1)(assert false)(push 1)\n");
    require_found(database, "expected a step, found '(assert true)(pop 1)");
  }
  SECTION("such a line among the proof steps") {
    text += " (assert true)(pop 1)(assert false)(push 1)\n";
    require_found(database, "expected a step, found '(assert true)(pop 1)");
  }
  SECTION("a malformed lemma") {
    text.insert(text.find("output\n"), " times 1) (assert false; 1\n");
    require_found(database, "expected a polynomial, found ') (assert false'");
  }
  SECTION("a missing proof step") {
    erase_line(text.rfind("indicators"));
    CHECK_FALSE(database.checked().findings.empty());
  }
  SECTION("a map that is not one-to-one") {
    const std::size_t arrow = text.find(" <- "), sign = text.rfind(":= ", arrow);
    text.insert(sign + 3, "2*");
    require_found(database, "have different factors");
  }
  SECTION("another rule with the same certificate") {
    std::swap(record.rule.source, record.rule.target);
    require_found(database, "states another rule");
  }
  SECTION("a rule together with its certificate's statement") {
    const std::string statement = "rule statement(a[n, n], b[n, n])\n  matmul(a, b)\n  => matmul(b, a)\n";
    record.rule = database.typed(statement);
    CertificateText certificate = parse_certificate(text, "test");
    certificate.statement = statement;
    certificate.definitions = {{"matmul", database.library.digest("matmul")}};
    text = to_string(certificate);
    require_found(database, "its sides differ");
  }
  SECTION("a digest") {
    const std::size_t at = text.find("; definition ");
    text[text.find('\n', at) - 1] ^= 1;
    require_found(database, "other definitions");
  }
  SECTION("a missing digest") {
    erase_line(text.find("; definition "));
    require_found(database, "other definitions");
  }
  SECTION("no certificate") {
    record.certificate = {};
    require_found(database, "has no certificate");
  }
}

TEST_CASE("the removal of a rule's condition is detected by its certificate") {
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

TEST_CASE("names of sizes and of indices are distinct in obligations") {
  // If the size #0 of the rule were the index #0 of the proof, the obligation would be another one.
  ProverFixture fixture;
  for (const std::string name : {"k0", "k2", "v0", "i0", "label0"}) {
    const std::string statement =
        "rule statement(z[m, " + name + "])\n  mean_last(ones(; d=[m, " + name + "]))\n  => ones(; d=[m, 1])\n";
    std::string reason;
    const auto certificate = certify_by_definitions(statement, fixture.library, {}, reason);
    INFO(reason);
    REQUIRE(certificate);
    CHECK(certificate->proof.find("#0 := 0; -1 + " + name + "\n") != std::string::npos);
  }
}

TEST_CASE("a derivation may use specializations of a general rule, and nothing else of it") {
  ProverFixture fixture;
  algebra::RuleSet rules;
  const auto add = [&](const std::string& text, algebra::Certificate certificate) {
    algebra::RuleRecord& record = rules.rules.emplace_back();
    record.rule =
        std::get<algebra::TypedRule>(algebra::infer_types(fixture.rule(text), fixture.bank, fixture.symbols)).rule;
    record.certificate = std::move(certificate);
  };
  using Kind = algebra::Certificate::Kind;
  add("rule sums(x[d...], y[d...], z[d...])\n  add(add(x, y), z) => add(x, add(y, z))", {Kind::Definitions, ""});
  add("rule strides(x[n, c, h, w], y[n, c, h, w], k[f, c, r, s])\n  add(conv2d(x, k; stride=t), conv2d(y, k; "
      "stride=t)) "
      "=> conv2d(add(x, y), k; stride=t)",
      {Kind::Definitions, ""});
  const std::string of_sums = ": x := a, y := b, z := c; d_1 := m, d_2 := n\n";
  const std::string derived = "rule at_two(a[m, n], b[m, n], c[m, n])\n  add(add(a, b), c) => add(a, add(b, c))";
  SECTION("a rank") {
    add(derived, {Kind::Derivation, "sums@d=2" + of_sums});
    certify(rules, fixture.library, fixture.bank, fixture.symbols, {});
    REQUIRE(rules.rules.size() == 3);
    CHECK(prove::check(rules, fixture.library, fixture.bank, fixture.symbols, {}).findings.empty());
    std::string& text = rules.rules[2].certificate.text;
    for (const char* other : {"sums@d=3", "sums@d=9", "sums@e=2", "sums", "none@d=2", "sums@"}) {
      INFO(other);
      const std::string kept = text;
      text.replace(text.find("sums@d=2"), 8, other);
      CHECK_FALSE(prove::check(rules, fixture.library, fixture.bank, fixture.symbols, {}).findings.empty());
      text = kept;
    }
  }
  SECTION("a parameter") {
    add("rule at_three(x[n, c, h, w], y[n, c, h, w], k[f, c, r, s])\n"
        "  add(conv2d(x, k; stride=3), conv2d(y, k; stride=3)) => conv2d(add(x, y), k; stride=3)",
        {Kind::Derivation, "strides@t=3" + identity_instance(rules.rules[1].rule, fixture)});
    certify(rules, fixture.library, fixture.bank, fixture.symbols, {});
    REQUIRE(rules.rules.size() == 3);
    CHECK(prove::check(rules, fixture.library, fixture.bank, fixture.symbols, {}).findings.empty());
    std::string& text = rules.rules[2].certificate.text;
    text.replace(text.find("strides@t=3"), 11, "strides@t=2");
    CHECK_FALSE(prove::check(rules, fixture.library, fixture.bank, fixture.symbols, {}).findings.empty());
  }
}

TEST_CASE("a derivation is checked of the rule as it is stated, not of that with inferred sizes") {
  ProverFixture fixture;
  const std::map<std::string, std::string> premises = {
      {"whole", "rule statement(x[n])\n  slice(x; axis=0, from=0, step=1, to=n)\n  => x\n"}};
  CertificateText certificate;
  certificate.kind = algebra::Certificate::Kind::Derivation;
  certificate.rule_instances = {"whole: x := a; n := n"};
  certificate.proof = "typing\n";
  for (const std::string to : {"n", "k"}) {
    certificate.statement = "rule statement(a[n])\n  slice(a; axis=0, from=0, step=1, to=" + to + ")\n  => a\n";
    if (to == "n")
      CHECK_NOTHROW(check_derivation_certificate(certificate, premises, fixture.library));
    else
      CHECK_THROWS_AS(check_derivation_certificate(certificate, premises, fixture.library), check::CheckError);
  }
}

TEST_CASE("rules are evaluated at sizes that satisfy their condition, however large") {
  ProverFixture fixture;
  for (const std::string condition :
       {"4000 <= n", "m + 3000 <= n", "4000 <= m*n, m <= n - 100", "100*m <= n, 50 <= m", "m = div(m - 1, n) + 1"}) {
    INFO(condition);
    const algebra::Rule rule = algebra::parse_rule("rule statement(x[m, n]) add(x, x) => x when " + condition, "test",
                                                   fixture.library, fixture.bank, fixture.symbols);
    const check::Evaluation found = evaluate_at_samples(rule, fixture.bank, fixture.symbols, 1);
    CHECK(found.evaluated == 1);
    CHECK(found.difference.value_or("").starts_with("its sides differ at "));
  }
}

TEST_CASE("a rule that is not evaluated is a finding") {
  Database database(1000);
  algebra::RuleRecord& record = database.rules.rules.at(0);
  record.rule = database.typed("rule statement(x[m, n])\n  relu(relu(x)) => relu(x) when n*n = 2*m*m");
  record.certificate = {algebra::Certificate::Kind::Definitions, ""};
  certify(database.rules, database.library, database.bank, database.symbols, {});
  require_found(database, "it was not evaluated: no sizes were found at which it applies");
}

TEST_CASE("an interrupted check throws instead of reporting findings") {
  Database database(30);
  runtime::request_interrupt();
  CHECK_THROWS_AS(database.checked(), runtime::Interrupted);
  runtime::clear_interrupt();
  CHECK(database.checked().findings.empty());
}

TEST_CASE("a false rule is rejected by the obligations of its certificate, and by evaluation") {
  ProverFixture fixture;
  std::size_t accepted_by_kernel = 0;
  for (const algebra::Rule& untyped : fixture.rules("tests/prove/false_claims.rules")) {
    INFO(untyped.id);
    const algebra::Rule rule =
        std::get<algebra::TypedRule>(algebra::infer_types(untyped, fixture.bank, fixture.symbols)).rule;
    CHECK(evaluate_at_samples(rule, fixture.bank, fixture.symbols, 1).difference);
    const std::string statement = statement_of(rule, fixture.bank, fixture.symbols);
    std::string reason;
    CHECK_FALSE(certify_by_definitions(statement, fixture.library, {}, reason));
    constexpr bool assume_obligations = true;
    const auto claimed = certify_by_definitions(statement, fixture.library, {}, reason, assume_obligations);
    if (!claimed) continue;
    ++accepted_by_kernel;
    check::Atoms atoms;
    check::Statement checked(check::to_core(rule, fixture.bank, fixture.symbols, atoms), atoms);
    const check::Proof proof = check::parse_proof(claimed->proof, "claim", 1, checked);
    Z3Session z3;
    std::size_t rejected = 0;
    for (const check::Obligation& obligation : check::check_proof(proof, checked)) {
      rejected += z3.answer(check::smtlib(obligation, atoms)) == "unsat" ? 0 : 1;
    }
    CHECK(rejected > 0);
  }
  CHECK(accepted_by_kernel >= 10);
}

TEST_CASE("a certificate lists exactly the assumed laws") {
  algebra::Library library;
  library.add(
      "function g(t) = sqrt(t * t)\n  law g(g(t)) = g(t)\n"
      "operator gate(x[n])\n  y[i < n] = g(x[i])\n",
      "gate.op");
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  algebra::RuleSet rules;
  algebra::RuleRecord& record = rules.rules.emplace_back();
  record.rule =
      algebra::parse_rules("rule twice(x[n])\n  gate(gate(x)) => gate(x)\n", "test", library, bank, symbols)[0];
  record.rule.tier = algebra::Tier::Core;
  record.certificate.kind = algebra::Certificate::Kind::Definitions;
  certify(rules, library, bank, symbols, {});
  std::string& text = record.certificate.text;
  INFO(text);
  const std::string line = "; assumed law g(g(t)) = g(t)\n";
  REQUIRE(text.find(line) != std::string::npos);
  const CheckReport report = prove::check(rules, library, bank, symbols, {});
  CHECK(report.findings.empty());
  CHECK(report.assuming_laws == 1);
  text.erase(text.find(line), line.size());
  const CheckReport without = prove::check(rules, library, bank, symbols, {});
  REQUIRE(without.findings.size() == 1);
  CHECK(without.findings[0].what.find("assumes other laws") != std::string::npos);
}

TEST_CASE("assumed laws of functions that only the proof brings in are listed") {
  algebra::Library library = shipped_operators();
  library.add("function trick(t) = 3 * equal(t * 7, 3)\n  law trick(trick(t)) = trick(t)\n", "trick.op");
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const algebra::Rule rule = algebra::parse_rules("rule t(x[n])\n  relu(x) => x\n", "test", library, bank, symbols)[0];
  check::Atoms atoms;
  const check::Statement statement(check::to_core(rule, bank, symbols, atoms), atoms);
  const auto laws = [&](const std::string& steps) {
    return assumed_laws(rule, bank, check::parse_proof("typing\noutput\n" + steps, "steps", 1, statement));
  };
  const std::vector<std::string> assumed = {"trick(trick(t)) = trick(t)"};
  CHECK(laws("indicators 0 1\n").empty());
  CHECK(laws("replace 0 0 0: 1 x[@0] + 1 + -1/3 trick(3)\nend\n") == assumed);
  CHECK(laws("within 0 0 0\nlaw trick.idempotent 0 0: 3/7\nend\n") == assumed);
  CHECK(laws("law log.product 0 0: 1; 1\n") ==
        std::vector<std::string>{"log.product: log(s * t) = log(s) + log(t) when s > 0, t > 0"});
}
