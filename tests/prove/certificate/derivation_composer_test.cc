// Composed derivations imply the goal, as the checker confirms.
#include "prove/certificate/derivation_composer.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "prove/certificate/certificate.h"
#include "prove/tasks/derivation_context.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

constexpr const char* associative = R"(rule a(x[m, k], y[k, n], z[n, p])
  matmul(matmul(x, y), z) => matmul(x, matmul(y, z)))";
constexpr const char* of_four = R"(rule b(x[m, k], y[k, n], z[n, p], w[p, q])
  matmul(matmul(matmul(x, y), z), w) => matmul(x, matmul(y, matmul(z, w))))";
constexpr const char* of_four_instances =
    "a: x := matmul(x, y), y := z, z := w; k := n, m := m, n := p, p := q\n"
    "a: x := x, y := y, z := matmul(z, w); k := k, m := m, n := n, p := q\n";
// As `b`, with other names, two of which are names of other variables or sizes in `b`.
constexpr const char* goal = R"(rule goal(y[p, k], x[k, n], u[n, n])
  matmul(matmul(matmul(y, x), u), add(u, u)) => matmul(y, matmul(x, matmul(u, add(u, u)))))";
constexpr const char* goal_instances =
    "b: x := y, y := x, z := u, w := add(u, u); k := k, m := p, n := n, p := n, q := n\n";

struct ComposerFixture {
  algebra::Library library = shipped_operators();
  DerivationComposer composer{library};
};

}  // namespace

TEST_CASE("an instance of a derived rule is replaced by the rule instances that imply that rule") {
  ComposerFixture fixture;
  REQUIRE(fixture.composer.add("b", of_four, of_four_instances));
  const std::optional<std::string> composed = fixture.composer.compose(goal, goal_instances);
  REQUIRE(composed);
  CHECK(*composed ==
        "a: x := matmul(y, x), y := u, z := add(u, u); k := n, m := p, n := n, p := n\n"
        "a: x := y, y := x, z := matmul(u, add(u, u)); k := k, m := p, n := n, p := n\n");
  const CertificateText certificate =
      certify_by_instances(goal, lines_of(*composed), {{"a", associative}}, fixture.library, {});
  CHECK_FALSE(certificate.proof.starts_with(no_proof));
  CHECK(check_derivation_certificate(certificate, {{"a", associative}}, fixture.library).scripts.size() == 1);
}

TEST_CASE("derivations of derived rules may use derived rules") {
  ComposerFixture fixture;
  REQUIRE(fixture.composer.add("b", of_four, of_four_instances));
  REQUIRE(fixture.composer.add("goal", goal, goal_instances));
  const std::optional<std::string> composed = fixture.composer.compose(
      "rule c(f[i, j], g[j, j])\n  matmul(matmul(matmul(f, g), g), add(g, g)) => matmul(f, matmul(g, matmul(g, add(g, "
      "g))))",
      "goal: y := f, x := g, u := g; k := j, n := j, p := i\n");
  REQUIRE(composed);
  CHECK(*composed ==
        "a: x := matmul(f, g), y := g, z := add(g, g); k := j, m := i, n := j, p := j\n"
        "a: x := f, y := g, z := matmul(g, add(g, g)); k := j, m := i, n := j, p := j\n");
}

TEST_CASE("equal rule instances occur once") {
  ComposerFixture fixture;
  REQUIRE(fixture.composer.add("b", of_four, of_four_instances));
  const std::optional<std::string> composed = fixture.composer.compose(
      goal, std::string(goal_instances) +
                "a: x := y, y := x, z := matmul(u, add(u, u)); k := k, m := p, n := n, p := n\n" + goal_instances);
  REQUIRE(composed);
  CHECK(lines_of(*composed).size() == 2);
}

TEST_CASE("a derivation that uses an uncomposable rule cannot be composed") {
  ComposerFixture fixture;
  fixture.composer.mark_uncomposable("e");
  CHECK_FALSE(fixture.composer.compose(goal, "e: x := y; c := k\n"));
  CHECK_FALSE(fixture.composer.add("b", of_four, "e: x := y; c := k\n"));
  CHECK_FALSE(fixture.composer.compose(goal, goal_instances));
}

TEST_CASE("a request composes one derivation on its own") {
  algebra::Library library = shipped_operators();
  const CompositionRequest request{goal, goal_instances, {{"b", of_four, of_four_instances}}};
  CHECK(compose_derivation(pack(request), library) ==
        "a: x := matmul(y, x), y := u, z := add(u, u); k := n, m := p, n := n, p := n\n"
        "a: x := y, y := x, z := matmul(u, add(u, u)); k := k, m := p, n := n, p := n\n");
  const CompositionRequest impossible{goal, goal_instances, {{"b", of_four, "b: x := y; k := k\n"}}};
  CHECK(compose_derivation(pack(impossible), library).empty());
}

namespace {

// Chained grouped convolutions: each one consumes the whole output of the previous one.
constexpr const char* of_one = R"(rule one(x[n, g*q, h, w], y[e, g*q, h, w], k[p*q, g, r, s])
  conv2d(concat(x, y; axis=0), k) => concat(conv2d(x, k), conv2d(y, k); axis=0))";
constexpr const char* of_two = R"(rule two(x[n, g*q, h, w], y[e, g*q, h, w], k[p*q, g, r, s], l[p2*q2, g2, t, u])
  conv2d(conv2d(concat(x, y; axis=0), k), l)
  => concat(conv2d(conv2d(x, k), l), conv2d(conv2d(y, k), l); axis=0)
  when q2*g2 = p*q)";
constexpr const char* with_relu = R"(rule goal(z[n, g*q, h, w], k[p*q, g, r, s], l[p2*q2, g2, t, u])
  relu(conv2d(conv2d(concat(z, z; axis=0), k), l))
  => relu(concat(conv2d(conv2d(z, k), l), conv2d(conv2d(z, k), l); axis=0))
  when q2*g2 = p*q)";

/// Returns the lines of a rule's derivation from others.
std::string derived_from(const std::vector<std::string>& rules, const std::string& rule, algebra::Library& library) {
  DerivationContext context(library, {});
  for (const std::string& each : rules) context.add_rule(each);
  const DerivationContext::Session session(context);
  const CandidateResult result = context.explain(rule, LimitPolicy::Extended);
  REQUIRE(result.status == RuleStatus::Derived);
  return result.certificate;
}

}  // namespace

TEST_CASE("equal products are refined where a derived rule with refined products is used") {
  ComposerFixture fixture;
  REQUIRE(fixture.composer.add("two", of_two, derived_from({of_one}, of_two, fixture.library)));
  const std::string by_two = derived_from({of_two}, with_relu, fixture.library);
  REQUIRE(by_two.starts_with("two: "));
  const std::optional<std::string> composed = fixture.composer.compose(with_relu, by_two);
  REQUIRE(composed);
  INFO(*composed);
  REQUIRE(lines_of(*composed).size() == 2);
  const CertificateText certificate =
      certify_by_instances(with_relu, lines_of(*composed), {{"one", of_one}}, fixture.library, {});
  CHECK_FALSE(certificate.proof.starts_with(no_proof));
  CHECK(check_derivation_certificate(certificate, {{"one", of_one}}, fixture.library).scripts.size() == 1);
}

namespace {

// Four grouped convolutions, three of them with the same kernel, whose sizes are thus in several equal products.
constexpr const char* of_four_kernels =
    R"(rule four(x[n, g*q, h, w], y[e, g*q, h, w], k[q*q2, g, r, s], l[q3*q4, g2, t, u])
  conv2d(conv2d(conv2d(conv2d(concat(x, y; axis=0), k), k), l), k)
  => concat(conv2d(conv2d(conv2d(conv2d(x, k), k), l), k), conv2d(conv2d(conv2d(conv2d(y, k), k), l), k); axis=0)
  when g*q5 = q*q2, q3*g2 = q*q2, g*q6 = q3*q4, q*q2 = q6*q7)";
constexpr const char* of_four_kernels_with_relu = R"(rule goal(z[n, g*q, h, w], k[q*q2, g, r, s], l[q3*q4, g2, t, u])
  relu(conv2d(conv2d(conv2d(conv2d(concat(z, z; axis=0), k), k), l), k))
  => relu(concat(conv2d(conv2d(conv2d(conv2d(z, k), k), l), k), conv2d(conv2d(conv2d(conv2d(z, k), k), l), k); axis=0))
  when g*q5 = q*q2, q3*g2 = q*q2, g*q6 = q3*q4, q*q2 = q6*q7)";

}  // namespace

TEST_CASE("equal products with repeated sizes are refined, too") {
  ComposerFixture fixture;
  const std::map<std::string, std::string> premises = {{"one", of_one}};
  const std::string by_one = derived_from({of_one}, of_four_kernels, fixture.library);
  CHECK(lines_of(by_one).size() == 4);
  const CertificateText four = certify_by_instances(of_four_kernels, lines_of(by_one), premises, fixture.library, {});
  CHECK_FALSE(four.proof.starts_with(no_proof));
  CHECK(check_derivation_certificate(four, premises, fixture.library).scripts.size() == 1);

  REQUIRE(fixture.composer.add("four", of_four_kernels, by_one));
  const std::string by_four = derived_from({of_four_kernels}, of_four_kernels_with_relu, fixture.library);
  REQUIRE(by_four.starts_with("four: "));
  const std::optional<std::string> composed = fixture.composer.compose(of_four_kernels_with_relu, by_four);
  REQUIRE(composed);
  INFO(*composed);
  const CertificateText goal_certificate =
      certify_by_instances(of_four_kernels_with_relu, lines_of(*composed), premises, fixture.library, {});
  CHECK_FALSE(goal_certificate.proof.starts_with(no_proof));
  CHECK(check_derivation_certificate(goal_certificate, premises, fixture.library).scripts.size() == 1);
}
