#include "prove/generalize.h"

#include <catch2/catch.hpp>

#include "algebra/terms/any_rank.h"
#include "algebra/terms/open_parameters.h"
#include "algebra/terms/rule_renaming.h"
#include "prove/certificate/certificate.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

std::optional<General> general_form(Court& court, const algebra::Rule& rule) {
  const auto types = algebra::infer_types(rule, court.bank, court.symbols);
  REQUIRE(std::holds_alternative<algebra::TypedRule>(types));
  return generalize(std::get<algebra::TypedRule>(types).rule, court.library, court.bank, court.symbols, {});
}

/// Whether the general forms of two rules are one, names aside.
bool same_general_form(Court& court, const std::string& one, const std::string& other) {
  const auto a = general_form(court, court.rule(one)), b = general_form(court, court.rule(other));
  return a && b && a->rule.groups.size() == b->rule.groups.size() &&
         algebra::same_rule(a->rule, b->rule, court.bank, court.symbols);
}

/// The statement of the general form; empty if there is none.
std::string general_text(Court& court, const std::string& rule) {
  const auto general = general_form(court, court.rule(rule));
  return general ? statement_of(general->rule, court.bank, court.symbols) : "";
}

}  // namespace

TEST_CASE("general forms say at which ranks and for which parameters a rule holds") {
  Court court;
  // The same law at two ranks, and with the dimension that is joined in the middle.
  CHECK(same_general_form(court, "rule r(x:2, y:2) add(x, y) => add(y, x)", "rule r(x:4, y:4) add(x, y) => add(y, x)"));
  CHECK(general_text(court, "rule r(x:2) relu(relu(x)) => relu(x)") ==
        "rule statement(x[d...])\n  relu(relu(x))\n  => relu(x)\n");
  CHECK(same_general_form(court, "rule r(x:2, y:2) concat(relu(x), relu(y); axis=1) => relu(concat(x, y; axis=1))",
                          "rule r(x:4, y:4) concat(relu(x), relu(y); axis=1) => relu(concat(x, y; axis=1))"));
  // The batch of a product is found at a rank that has none; its rows are no group, matmul has one dimension for them.
  CHECK(general_text(court, "rule r(x:2, a:2, b:2) matmul(matmul(x, a), b) => matmul(x, matmul(a, b))") ==
        "rule statement(x[d..., m, k], a[d..., k, n], b[d..., n, n2])\n  matmul(matmul(x, a), b)\n  => matmul(x, "
        "matmul(a, "
        "b))\n");
  // Both strides of a chain are free, and those of branches that are added are one.
  const std::string chain =
      general_text(court, "rule r(x:4, k:4, l:4) relu(relu(conv2d(conv2d(x, k), l))) => relu(conv2d(conv2d(x, k), l))");
  CHECK(chain.find("stride=stride") != std::string::npos);
  CHECK(chain.find("stride=stride_") != std::string::npos);
  const std::string branches =
      general_text(court, "rule r(x:4, k:4, l:4) add(conv2d(x, k), conv2d(x, l)) => conv2d(x, add(k, l))");
  CHECK(branches.find("stride=stride)") != std::string::npos);
  CHECK(branches.find("stride_") == std::string::npos);
}

TEST_CASE("what holds for one number alone stays as it is") {
  Court court;
  const std::string identity =
      general_text(court, "rule r(x[n, c, h, w]) conv2d(x, identity_kernel(; kernel=3, c=c)) => x");
  CHECK(identity.find("kernel=kernel") != std::string::npos);
  CHECK(identity.find("stride=") == std::string::npos);
  // A transpose turns rows and columns: neither is passed through, and nothing stands beside them in front or behind
  // but what the wider rule says.
  const std::string turned = general_text(court, "rule r(x:2) transpose(transpose(x; perm=[1,0]); perm=[1,0]) => x");
  CHECK(turned.find("perm=[1,0]") != std::string::npos);
}

TEST_CASE("general forms are proved with a certificate, and hold at ranks 0 to 4 of each group") {
  Court court;
  std::size_t any_rank = 0, any_parameter = 0, proved = 0;
  for (const algebra::Rule& rule : court.rules("tests/prove/proved.rules")) {
    INFO(rule.id);
    const auto general = general_form(court, rule);
    if (!general) continue;
    CHECK(is_followed(general->certificate));
    any_rank += general->rule.groups.empty() ? 0 : 1;
    any_parameter += algebra::open_sizes(general->rule, court.bank).empty() ? 0 : 1;
    for (const algebra::Atom group : general->rule.groups) {
      for (std::uint32_t rank = 0; rank <= 4; ++rank) {
        const auto other = algebra::with_rank(general->rule, group, rank, court.library, court.bank, court.symbols);
        if (rank >= 1 && rank <= 3) REQUIRE(other);
        if (!other) continue;
        const auto types = algebra::infer_types(*other, court.bank, court.symbols);
        REQUIRE(std::holds_alternative<algebra::TypedRule>(types));
        const auto& typed = std::get<algebra::TypedRule>(types);
        CHECK(typed.rule.shapes == other->shapes);
        INFO(algebra::to_string(*other, court.bank, court.symbols));
        CHECK(court.prover.prove_equal(typed).proved);
        ++proved;
      }
    }
  }
  CHECK(any_rank >= 20);
  CHECK(any_parameter >= 10);
  WARN(any_rank << " rules at any rank, " << any_parameter << " for any parameter, " << proved << " instances proved");
}
