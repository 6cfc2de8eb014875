// Records in parts.
#include <catch2/catch.hpp>

#include "prove/tasks/candidate_result.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::prove;

TEST_CASE("A record that a worker makes in parts has the bytes of the whole record") {
  algebra::Library library = shipped_operators();
  CandidateResult result;
  result.status = RuleStatus::Derived;
  result.queries = 3;
  result.instance_count = 1;
  result.example = {{2, 8}};
  const char* instance = "r1: t1 := x; k := n, m := m\n";
  SECTION("from left to right") {
    result.rule = "rule c9(x[m, n])\n  relu(transpose(transpose(x; perm=[1,0]); perm=[1,0])) => relu(x)\n";
  }
  SECTION("exchanged sides") {
    result.rule = "rule c9(x[m, n])\n  x => transpose(transpose(x; perm=[1,0]); perm=[1,0])\n";
  }
  const std::map<std::string, std::string> premises{
      {"r1", "rule statement(t1[m, k])\n  transpose(transpose(t1; perm=[1,0]); perm=[1,0])\n  => t1\n"}};
  constexpr auto derivation = algebra::Certificate::Kind::Derivation;
  const CertifiedRecord made =
      unpack_record(pack(make_record(certificate_request(result.rule, derivation, instance, premises), library, {})));

  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  algebra::RuleRecord whole = record_of(result, "r7", library, bank, symbols);
  const std::string statement = statement_of(whole.rule, bank, symbols);
  whole.certificate.text =
      make_certificate(certificate_request(statement, derivation, instance, premises), library, {});
  CHECK(has_checkable_proof(made.certificate));
  CHECK(made.certificate == whole.certificate.text);
  algebra::RuleRecord named;
  named.rule.id = "r7";
  named.rule.tier = algebra::Tier::Derived;
  named.certificate = {derivation, made.certificate};
  named.statistics = {3, 1};
  named.example = {{2, 8}};
  algebra::RuleSetWriter writer(library);
  CHECK(writer.join(named, made.parts) == writer.serialize(whole, bank, symbols));
}
