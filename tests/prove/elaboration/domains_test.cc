#include <catch2/catch.hpp>

#include "prove/certificate/certificate.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

std::string statement_of(ProverFixture& fixture, const algebra::Rule& rule) {
  const auto typed = algebra::infer_types(rule, fixture.bank, fixture.symbols);
  return prove::statement_of(std::get<algebra::TypedRule>(typed).rule, fixture.bank, fixture.symbols);
}

}  // namespace

TEST_CASE("a partial function of a sum is shown to be defined where the other side has it in another order or cell") {
  ProverFixture fixture;
  fixture.library.add(text_of("tests/prove/textbook.op"), "tests/prove/textbook.op");
  for (const algebra::Rule& rule : fixture.rules("tests/prove/textbook.rules")) {
    INFO(rule.id);
    std::string reason;
    const std::string statement = statement_of(fixture, rule);
    CHECK(certify_by_definitions(statement, fixture.library, {}, reason).has_value());
    CHECK(reason == "");
  }
}

TEST_CASE("a part of a normalized tensor is not defined wherever the whole is") {
  ProverFixture fixture;
  fixture.library.add(text_of("tests/prove/textbook.op"), "tests/prove/textbook.op");
  const algebra::Rule rule = fixture.rule(
      "rule part(x[k + m, n], e[])\n"
      "  split(textbook_rms(x, e); axis=0, at=k).first => textbook_rms(split(x; axis=0, at=k).first, e)");
  std::string reason;
  const std::string statement = statement_of(fixture, rule);
  CHECK_FALSE(certify_by_definitions(statement, fixture.library, {}, reason).has_value());
  CHECK(reason.starts_with("not shown to be defined where the other side is"));
}
