// Derivations from derived rules: what is put in their place implies the goal, as the checker sees it.
#include "prove/certificate/composition.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "prove/certificate/certificate.h"
#include "prove/farm/workbench.h"

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
// As `b`, at other names, two of which are the names of other things in `b`.
constexpr const char* goal = R"(rule goal(y[p, k], x[k, n], u[n, n])
  matmul(matmul(matmul(y, x), u), add(u, u)) => matmul(y, matmul(x, matmul(u, add(u, u)))))";
constexpr const char* goal_instances =
    "b: x := y, y := x, z := u, w := add(u, u); k := k, m := p, n := n, p := n, q := n\n";

struct Composing {
  algebra::Library library = algebra::Library::load(std::filesystem::path(RULEMILL_SOURCE_DIR) / "data" / "operators");
  Composition composition{library};
};

}  // namespace

TEST_CASE("an instance of a derived rule becomes the instances that imply that rule", "[composition]") {
  Composing composing;
  REQUIRE(composing.composition.add("b", of_four, of_four_instances));
  const std::optional<std::string> composed = composing.composition.compose(goal, goal_instances);
  REQUIRE(composed);
  CHECK(*composed ==
        "a: x := matmul(y, x), y := u, z := add(u, u); k := n, m := p, n := n, p := n\n"
        "a: x := y, y := x, z := matmul(u, add(u, u)); k := k, m := p, n := n, p := n\n");
  const CertificateText certificate =
      certify_by_instances(goal, lines_of(*composed), {{"a", associative}}, composing.library, {});
  CHECK(certificate.proof != unfollowed);
  CHECK(follow_derivation(certificate, {{"a", associative}}, composing.library).scripts.size() == 1);
}

TEST_CASE("derived rules may rest on derived rules", "[composition]") {
  Composing composing;
  REQUIRE(composing.composition.add("b", of_four, of_four_instances));
  REQUIRE(composing.composition.add("goal", goal, goal_instances));
  const std::optional<std::string> composed = composing.composition.compose(
      "rule c(f[i, j], g[j, j])\n  matmul(matmul(matmul(f, g), g), add(g, g)) => matmul(f, matmul(g, matmul(g, add(g, "
      "g))))",
      "goal: y := f, x := g, u := g; k := j, n := j, p := i\n");
  REQUIRE(composed);
  CHECK(*composed ==
        "a: x := matmul(f, g), y := g, z := add(g, g); k := j, m := i, n := j, p := j\n"
        "a: x := f, y := g, z := matmul(g, add(g, g)); k := j, m := i, n := j, p := j\n");
}

TEST_CASE("equal instances stand once", "[composition]") {
  Composing composing;
  REQUIRE(composing.composition.add("b", of_four, of_four_instances));
  const std::optional<std::string> composed = composing.composition.compose(
      goal, std::string(goal_instances) +
                "a: x := y, y := x, z := matmul(u, add(u, u)); k := k, m := p, n := n, p := n\n" + goal_instances);
  REQUIRE(composed);
  CHECK(lines_of(*composed).size() == 2);
}

TEST_CASE("what cites a rule that has no composition has none", "[composition]") {
  Composing composing;
  composing.composition.refuse("e");
  CHECK_FALSE(composing.composition.compose(goal, "e: x := y; c := k\n"));
  CHECK_FALSE(composing.composition.add("b", of_four, "e: x := y; c := k\n"));
  CHECK_FALSE(composing.composition.compose(goal, goal_instances));
}

namespace {

// Grouped convolutions of which each takes all that the one before makes.
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

/// The lines of a rule's derivation from others.
std::string derived_from(const std::vector<std::string>& rules, const std::string& rule, algebra::Library& library) {
  Workbench bench(library, {});
  for (const std::string& each : rules) bench.add_rule(each);
  const Workbench::Session session(bench);
  const Outcome outcome = bench.explain(rule, Workbench::Try::Harder);
  REQUIRE(outcome.kind == Outcome::Kind::Derived);
  return outcome.certificate;
}

}  // namespace

TEST_CASE("equal products are dealt out where a derived rule is used, as its own derivation is over the parts",
          "[composition]") {
  Composing composing;
  REQUIRE(composing.composition.add("two", of_two, derived_from({of_one}, of_two, composing.library)));
  const std::string by_two = derived_from({of_two}, with_relu, composing.library);
  REQUIRE(by_two.starts_with("two: "));
  const std::optional<std::string> composed = composing.composition.compose(with_relu, by_two);
  REQUIRE(composed);
  INFO(*composed);
  REQUIRE(lines_of(*composed).size() == 2);
  const CertificateText certificate =
      certify_by_instances(with_relu, lines_of(*composed), {{"one", of_one}}, composing.library, {});
  CHECK(certificate.proof != unfollowed);
  CHECK(follow_derivation(certificate, {{"one", of_one}}, composing.library).scripts.size() == 1);
}
