#include <algorithm>
#include <catch2/catch.hpp>

#include "prove/solver/query.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

bool has_lemma(const std::vector<Lemma>& lemmas, const Guards& premises, const Poly& nonnegative) {
  return std::ranges::any_of(lemmas, [&](const Lemma& lemma) {
    return lemma.premises == premises && lemma.conclusion == Guard{false, nonnegative};
  });
}

}  // namespace

TEST_CASE("a quotient by a size is defined without premises") {
  Symbols symbols;
  const Poly i(symbols.index("i")), n(symbols.size("n")), q = symbols.floor_div(i, n);
  const std::vector<Lemma> lemmas = make_lemmas({"test", {{false, q}}, {}, {}}, symbols);
  CHECK(has_lemma(lemmas, {}, i - n * q));
  CHECK(has_lemma(lemmas, {}, n * q + n - 1 - i));
  CHECK(has_lemma(lemmas, {}, n - 1));
}

TEST_CASE("a quotient by a difference requires that it is positive") {
  Symbols symbols;
  const Poly i(symbols.index("i")), d = Poly(symbols.size("m")) - Poly(symbols.size("n"));
  const Poly q = symbols.floor_div(i, d);
  const std::vector<Lemma> lemmas = make_lemmas({"test", {{false, q}}, {}, {}}, symbols);
  CHECK(has_lemma(lemmas, {{false, d - 1}}, i - d * q));
  CHECK_FALSE(has_lemma(lemmas, {}, i - d * q));
}

TEST_CASE("a minimum is at most both operands, and one of them") {
  Symbols symbols;
  const Poly i(symbols.index("i")), j(symbols.index("j")), least = symbols.min(i, j);
  const std::vector<Lemma> lemmas = make_lemmas({"test", {{false, least}}, {}, {}}, symbols);
  CHECK(has_lemma(lemmas, {}, i - least));
  CHECK(has_lemma(lemmas, {}, j - least));
  CHECK(has_lemma(lemmas, {{false, j - i}}, least - i));
  CHECK(has_lemma(lemmas, {{false, i - j}}, least - j));
}
