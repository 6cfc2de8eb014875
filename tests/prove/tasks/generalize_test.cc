#include "prove/tasks/generalize.h"

#include <catch2/catch.hpp>

#include "algebra/terms/dimension_packs.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/symbolic_parameters.h"
#include "prove/certificate/certificate.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

std::optional<GeneralRule> general_form(ProverFixture& fixture, const algebra::Rule& rule) {
  const auto types = algebra::infer_types(rule, fixture.bank, fixture.symbols);
  REQUIRE(std::holds_alternative<algebra::TypedRule>(types));
  return generalize(std::get<algebra::TypedRule>(types).rule, fixture.library, fixture.bank, fixture.symbols, {});
}

/// Returns whether the general forms of two rules are equal up to renaming.
bool same_general_form(ProverFixture& fixture, const std::string& one, const std::string& other) {
  const auto a = general_form(fixture, fixture.rule(one)), b = general_form(fixture, fixture.rule(other));
  return a && b && a->rule.packs.size() == b->rule.packs.size() &&
         algebra::is_renaming_of(a->rule, b->rule, fixture.bank, fixture.symbols);
}

/// Returns the statement of the general form; empty if there is none.
std::string general_text(ProverFixture& fixture, const std::string& rule) {
  const auto general = general_form(fixture, fixture.rule(rule));
  return general ? statement_of(general->rule, fixture.bank, fixture.symbols) : "";
}

}  // namespace

TEST_CASE("rules are generalized to any rank and to symbolic parameters") {
  ProverFixture fixture;
  // The same law at two ranks, also for a concatenation along a dimension in the middle.
  CHECK(
      same_general_form(fixture, "rule r(x:2, y:2) add(x, y) => add(y, x)", "rule r(x:4, y:4) add(x, y) => add(y, x)"));
  CHECK(general_text(fixture, "rule r(x:2) relu(relu(x)) => relu(x)") ==
        "rule statement(x[d...])\n  relu(relu(x))\n  => relu(x)\n");
  CHECK(same_general_form(fixture, "rule r(x:2, y:2) concat(relu(x), relu(y); axis=1) => relu(concat(x, y; axis=1))",
                          "rule r(x:4, y:4) concat(relu(x), relu(y); axis=1) => relu(concat(x, y; axis=1))"));
  // The batch of a product becomes a pack also for rules of rank 2. Its rows do not: matmul has one dimension for them.
  CHECK(general_text(fixture, "rule r(x:2, a:2, b:2) matmul(matmul(x, a), b) => matmul(x, matmul(a, b))") ==
        "rule statement(x[d..., m, k], a[d..., k, n], b[d..., n, n2])\n  matmul(matmul(x, a), b)\n  => matmul(x, "
        "matmul(a, "
        "b))\n");
  // A chain has two independent symbolic strides; branches that are added share one.
  const std::string chain = general_text(
      fixture, "rule r(x:4, k:4, l:4) relu(relu(conv2d(conv2d(x, k), l))) => relu(conv2d(conv2d(x, k), l))");
  CHECK(chain.find("stride=stride") != std::string::npos);
  CHECK(chain.find("stride=stride_") != std::string::npos);
  const std::string branches =
      general_text(fixture, "rule r(x:4, k:4, l:4) add(conv2d(x, k), conv2d(x, l)) => conv2d(x, add(k, l))");
  CHECK(branches.find("stride=stride)") != std::string::npos);
  CHECK(branches.find("stride_") == std::string::npos);
}

TEST_CASE("variables with several uses are split where the rule still holds") {
  ProverFixture fixture;
  CHECK(general_text(fixture, "rule r(x1:2, x2:2) mul(x1, add(x2, x2)) => add(mul(x1, x2), mul(x1, x2))") ==
        "rule statement(x1[d...], x2[d...], x3[d...])\n  mul(x1, add(x2, x3))\n  => add(mul(x1, x3), mul(x1, x2))\n");
  CHECK(general_text(fixture,
                     "rule r(x:2, y:2) matmul(concat(x, x; axis=1), concat(y, y; axis=0)) => add(matmul(x, y), "
                     "matmul(x, y))")
            .find("matmul(concat(x, x1; axis=2), concat(y, y1; axis=1))") != std::string::npos);
  // Both sides are 0, because both uses are the same variable.
  const std::string zero = general_text(fixture, "rule r(x:2, y:2) sub(mul(x, y), mul(y, x)) => sub(x, x)");
  CHECK(zero.find("d...") != std::string::npos);
  CHECK(zero.find("x1") == std::string::npos);
}

TEST_CASE("a parameter or dimension for which only one value is possible is not generalized") {
  ProverFixture fixture;
  const std::string identity =
      general_text(fixture, "rule r(x[n, c, h, w]) conv2d(x, identity_kernel(; kernel=3, c=c)) => x");
  CHECK(identity.find("kernel=kernel") != std::string::npos);
  CHECK(identity.find("stride=") == std::string::npos);
  // A transpose does not pass its dimensions through, so they cannot become packs.
  const std::string turned = general_text(fixture, "rule r(x:2) transpose(transpose(x; perm=[1,0]); perm=[1,0]) => x");
  CHECK(turned.find("perm=[1,0]") != std::string::npos);
}

TEST_CASE("general forms have certificates and hold for 0 to 4 dimensions of each pack") {
  ProverFixture fixture;
  std::size_t any_rank = 0, any_parameter = 0, proved = 0;
  for (const algebra::Rule& rule : fixture.rules("tests/prove/proved.rules")) {
    INFO(rule.id);
    const auto general = general_form(fixture, rule);
    if (!general) continue;
    CHECK(has_checkable_proof(general->certificate));
    any_rank += general->rule.packs.empty() ? 0 : 1;
    any_parameter += algebra::symbolic_parameter_sizes(general->rule, fixture.bank).empty() ? 0 : 1;
    for (const algebra::Atom pack : general->rule.packs) {
      for (std::uint32_t rank = 0; rank <= 4; ++rank) {
        const auto other =
            algebra::expand_pack(general->rule, pack, rank, fixture.library, fixture.bank, fixture.symbols);
        if (rank >= 1 && rank <= 3) REQUIRE(other);
        if (!other) continue;
        const auto types = algebra::infer_types(*other, fixture.bank, fixture.symbols);
        REQUIRE(std::holds_alternative<algebra::TypedRule>(types));
        const auto& typed = std::get<algebra::TypedRule>(types);
        CHECK(typed.rule.shapes == other->shapes);
        INFO(algebra::to_string(*other, fixture.bank, fixture.symbols));
        CHECK(fixture.prover.prove_equal(typed).proved);
        ++proved;
      }
    }
  }
  CHECK(any_rank >= 20);
  CHECK(any_parameter >= 10);
  WARN(any_rank << " rules at any rank, " << any_parameter << " for any parameter, " << proved
                << " specializations proved");
}
