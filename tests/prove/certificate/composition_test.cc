// Derivations from derived rules: what is put in their place implies the goal, as the checker sees it.
#include "prove/certificate/composition.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "prove/certificate/certificate.h"

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
constexpr const char* twice_grouped = R"(rule e(x[n, c, h, w], k[f, g, r, s], l[e, g2, t, u])
  conv2d(conv2d(x, k), l) => conv2d(conv2d(x, k), l))";

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

TEST_CASE("a derivation over sizes that equal products are dealt out to is not composed", "[composition]") {
  Composing composing;
  CHECK_FALSE(composing.composition.add("e", twice_grouped, ""));
  CHECK_FALSE(composing.composition.compose(goal, "e: x := y; c := k\n"));
  // What cites such a rule can't be composed, nor what cites that.
  CHECK_FALSE(composing.composition.add("b", of_four, "e: x := y; c := k\n"));
  CHECK_FALSE(composing.composition.compose(goal, goal_instances));
}
