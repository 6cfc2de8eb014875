#include "prove/solver/linear.h"

#include <catch2/catch.hpp>
#include <random>

#include "check/kernel/obligation.h"
#include "prove/solver/model_search.h"
#include "prove/solver/z3_session.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

/// Random linear guards over a few indices and sizes.
Query random_query(Atoms& atoms, std::mt19937& random) {
  const Poly m = atoms.size("m"), n = atoms.size("n");
  const std::vector<Poly> all = {Poly(atoms.bound(0)), Poly(atoms.bound(1)), Poly(atoms.bound(2)), m, n};
  Query query{{}, {{{}, {false, m - 1}}, {{}, {false, n - 1}}}};
  const std::size_t guards = 2 + random() % 7;
  for (std::size_t g = 0; g < guards; ++g) {
    Poly poly(static_cast<std::int64_t>(random() % 9) - 4);
    for (const Poly& atom : all) {
      if (random() % 2 == 0) poly += atom * Poly(static_cast<std::int64_t>(random() % 5) - 2);
    }
    query.asserted.push_back({random() % 5 == 0, poly});
  }
  return query;
}

/// a ≥ 0 and b ≥ 0 imply a·b ≥ 0.
Lemma product(const Poly& a, const Poly& b) { return {{{false, a}, {false, b}}, {false, a * b}}; }

}  // namespace

TEST_CASE("no model contradicts what the linear check shows") {
  std::mt19937 random(5);
  std::size_t shown = 0;
  std::size_t satisfied = 0;
  for (int round = 0; round < 2000; ++round) {
    Atoms atoms;
    const Query query = random_query(atoms, random);
    bool model = false;
    for (std::int64_t m = 1; m <= 3 && !model; ++m) {
      for (std::int64_t n = 1; n <= 3 && !model; ++n) {
        const Models::Values sizes = {{*atoms.size("m").atom(), m}, {*atoms.size("n").atom(), n}};
        model = find_model(query, sizes, atoms).has_value();
      }
    }
    const bool infeasible = is_linearly_infeasible(query);
    CHECK_FALSE((model && infeasible));
    shown += infeasible ? 1 : 0;
    satisfied += model ? 1 : 0;
  }
  CHECK(shown > 200);
  CHECK(satisfied > 200);
}

TEST_CASE("the linear check and Z3 agree on random queries") {
  std::mt19937 random(6);
  Z3Session z3;
  for (int round = 0; round < 300; ++round) {
    Atoms atoms;
    const Query query = random_query(atoms, random);
    if (is_linearly_infeasible(query)) CHECK(z3.answer(check::smtlib({"", query.asserted, {}, {}}, atoms)) == "unsat");
  }
}

TEST_CASE("products of bounds fix a quotient, and only those that are needed are named") {
  Atoms atoms;
  const Poly i(atoms.fresh_bound()), n = atoms.size("n"), m = atoms.size("m"), q = atoms.floor_div(i, n);
  const std::vector<Lemma> definitions = {{{}, {false, n - 1}}, {{}, {false, m - 1}}, {{}, {false, i - n * q}}};
  Query above{{{false, i}, {false, n - 1 - i}, {false, q - 1}}, definitions};
  LiteralLemmas products{{product(i, m), product(q - 1, n), product(q - 1, m)}, {}};
  CHECK_FALSE(is_linearly_infeasible(above));
  CHECK(is_linearly_infeasible(above, &products));
  CHECK(products.used == std::set<std::size_t>{1});
  above.asserted[1].poly = n - i;  // i = n has the quotient 1
  products.used.clear();
  CHECK_FALSE(is_linearly_infeasible(above, &products));
  CHECK(products.used.empty());
}

TEST_CASE("a premise of a product holds once its complement is refuted, by another product") {
  Atoms atoms;
  const Poly i(atoms.fresh_bound()), n = atoms.size("n"), g = atoms.size("g"), q = atoms.floor_div(i, n);
  const std::vector<Lemma> definitions = {{{}, {false, n - 1}}, {{}, {false, g - 1}}, {{}, {false, n * q + n - 1 - i}}};
  const Query query{{{false, i}, {false, -g * q - 1}}, definitions};
  LiteralLemmas products{{product(q, g), product(-q - 1, n)}, {}};
  CHECK(is_linearly_infeasible(query, &products));
  CHECK(products.used == std::set<std::size_t>{0, 1});
  products = {{product(q, n), product(-q - 1, n)}, {}};
  CHECK_FALSE(is_linearly_infeasible(query, &products));
}

TEST_CASE("a minimum is fixed in cases of its operands' order") {
  Atoms atoms;
  const Poly a = atoms.size("a"), b = atoms.size("b"), c(atoms.fresh_bound());
  const Poly least = atoms.min(a + c, b + c), unmoved = atoms.min(a, b);
  Query query{{{false, c + unmoved - least - 1}}, {}};
  const auto define = [&](const Poly& minimum, const Poly& l, const Poly& r) {
    for (const Poly& each : {l, r}) query.lemmas.push_back({{}, {false, each - minimum}});
    query.lemmas.push_back({{{false, r - l}}, {false, minimum - l}});
    query.lemmas.push_back({{{false, l - r}}, {false, minimum - r}});
  };
  define(least, a + c, b + c);
  define(unmoved, a, b);
  LiteralLemmas none;
  CHECK(is_linearly_infeasible(query, &none));
  query.asserted[0].poly += 1;
  CHECK_FALSE(is_linearly_infeasible(query, &none));
}
