#include "algebra/rule_picture.h"

#include <catch2/catch.hpp>

#include "algebra/text.h"

namespace rulemill::algebra {

TEST_CASE("a rule's picture shows both sides as trees, a shared node once") {
  Library library = Library::load(RULEMILL_SOURCE_DIR "/data/operators");
  TermBank bank(library);
  Symbols symbols;
  const auto rules = parse_rules(R"(
    rule merge(x[m, k], a[k, n], b[k, l])
      let s = split(matmul(x, concat(a, b; axis=1)); axis=1, at=n)
      matmul(x, a), matmul(x, b) => s.first, s.second)",
                                 "test", library, bank, symbols);
  CHECK(picture(rules.at(0), bank, symbols) ==
        "matmul      ⇒  split.first axis=1, at=n #1\n"
        "├─ x[m, k]     └─ matmul\n"
        "└─ a[k, n]        ├─ x[m, k]\n"
        "matmul            └─ concat axis=1\n"
        "├─ x[m, k]           ├─ a[k, n]\n"
        "└─ b[k, l]           └─ b[k, l]\n"
        "               split.second #1\n");
}

}  // namespace rulemill::algebra
