#include "algebra/rules/rule_picture.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "tests/shipped_operators.h"

namespace rulemill::algebra {

TEST_CASE("the picture of a rule shows both sides as trees and a shared node once") {
  Library library = shipped_operators();
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

TEST_CASE("typed steps list each node with its output shapes") {
  Library library = shipped_operators();
  TermBank bank(library);
  Symbols symbols;
  const auto rules =
      parse_rules("rule twice(t1[m, k])\n relu(split(t1; axis=1, at=n).first) => split(relu(t1); axis=1, at=n).first",
                  "test", library, bank, symbols);
  const auto typed = infer_types(rules.at(0), bank, symbols);
  REQUIRE(std::holds_alternative<TypedRule>(typed));
  const auto& rule = std::get<TypedRule>(typed);
  CHECK(format_typed_steps(rule.rule, bank, symbols, rule.types) ==
        " %1 = split(t1; axis=1, at=n)  : first [m, n]  second [m, k - n]\n"
        " %2 = relu(%1.first)           : [m, n]\n"
        " %3 = relu(t1)                 : [m, k]\n"
        " %4 = split(%3; axis=1, at=n)  : first [m, n]  second [m, k - n]\n"
        "     %2  ⇒  %4.first\n");
}

TEST_CASE("a drawing has every node once, without overlaps, arguments in order") {
  Library library = shipped_operators();
  TermBank bank(library);
  Symbols symbols;
  std::ifstream stream(RULEMILL_SOURCE_DIR "/tests/prove/proved.rules");
  std::stringstream text;
  text << stream.rdbuf();
  for (const Rule& rule : parse_rules(text.str(), "proved.rules", library, bank, symbols)) {
    for (const auto* side : {&rule.source, &rule.target}) {
      const Drawing drawing = draw_side(rule, *side, bank, symbols, {});
      INFO(rule.id);
      CHECK(drawing.nodes.size() == bank.nodes(*side).size() + bank.variables(*side).size() + side->size());
      for (std::size_t a = 0; a < drawing.nodes.size(); ++a) {
        const DrawnNode& node = drawing.nodes[a];
        CHECK(node.x - node.width / 2 >= 0);
        CHECK(node.x + node.width / 2 <= drawing.width);
        CHECK(node.y + node.height / 2 <= drawing.height);
        for (std::size_t b = 0; b < a; ++b) {
          const DrawnNode& other = drawing.nodes[b];
          if (node.y == other.y) CHECK(std::abs(node.x - other.x) >= (node.width + other.width) / 2);
        }
      }
      for (const DrawnEdge& edge : drawing.edges) CHECK(drawing.nodes[edge.from].y < drawing.nodes[edge.to].y);
    }
  }
  const Rule product =
      parse_rules("rule p(b:2, a:2)\n matmul(b, a) => matmul(b, a)", "test", library, bank, symbols).at(0);
  const Drawing drawing = draw_side(product, product.source, bank, symbols, {});
  CHECK(drawing.nodes[0].label == "b");
  CHECK(drawing.nodes[0].x < drawing.nodes[1].x);
}

}  // namespace rulemill::algebra
