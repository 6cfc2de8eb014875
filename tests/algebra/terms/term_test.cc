#include "algebra/terms/term.h"

#include <catch2/catch.hpp>

#include "algebra/library/library.h"
#include "algebra/terms/rule_text.h"
#include "tests/shipped_operators.h"

namespace rulemill::algebra {
namespace {

struct TermFixture {
  Library library = shipped_operators();
  TermBank bank{library};
  Symbols symbols;

  Rule rule(const std::string& text) { return parse_rules(text, "test", library, bank, symbols).at(0); }
  NodeRewrite copy_with(const std::string& from, const std::string& to) {
    return [this, from, to](NodeId old, std::span<const TermId> arguments) {
      const OperatorInstance& instance = library.instance(bank.node(old).instance);
      if (instance.operator_name != from) return bank.apply(instance.id, arguments, bank.node(old).sizes);
      const std::vector<std::uint32_t> ranks(arguments.size(), bank.rank(arguments[0]));
      return bank.apply(library.instantiate(to, {}, ranks).id, arguments, bank.node(old).sizes);
    };
  }
};

TEST_CASE_METHOD(TermFixture, "rewriting nodes changes them in both sides, and their users", "[term]") {
  Rule changed = rule("rule t(x[m], y[m]) relu(add(x, y)), y => relu(add(y, x)), neg(mul(x, y))");
  const Rule expected = rule("rule t(x[m], y[m]) relu(mul(x, y)), y => relu(mul(y, x)), neg(mul(x, y))");
  TermMap images;
  REQUIRE(rewrite_nodes(changed, bank, images, copy_with("add", "mul")));
  CHECK(changed.source == expected.source);
  CHECK(changed.target == expected.target);
}

TEST_CASE_METHOD(TermFixture, "rebuilding keeps given images and does not rewrite their nodes", "[term]") {
  const Rule old = rule("rule t(x[m], y[m]) relu(add(x, y)) => neg(x)");
  TermMap images{{bank.node_of(old.source[0]).arguments[0], old.target[0]}};
  const auto rewrite = [&](NodeId id, std::span<const TermId> arguments) -> std::optional<NodeId> {
    CHECK(library.instance(bank.node(id).instance).operator_name == "relu");
    return bank.apply(bank.node(id).instance, arguments, {});
  };
  const auto result = bank.rebuild(old.source, images, rewrite);
  REQUIRE(result);
  CHECK(to_string(result->at(0), bank, symbols) == "relu(neg(x))");
}

TEST_CASE_METHOD(TermFixture, "a node without a replacement ends the walk", "[term]") {
  Rule unchanged = rule("rule t(x[m]) relu(neg(x)) => x");
  const std::vector<TermId> source = unchanged.source;
  TermMap images;
  int visited = 0;
  const auto none = [&](NodeId, std::span<const TermId>) -> std::optional<NodeId> {
    ++visited;
    return std::nullopt;
  };
  CHECK_FALSE(rewrite_nodes(unchanged, bank, images, none));
  CHECK(visited == 1);
  CHECK(unchanged.source == source);
}

TEST_CASE_METHOD(TermFixture, "a size gets an unused name", "[term]") {
  std::set<std::string> used = used_size_names(rule("rule t(x[k, m]) add(x, x) => x"), bank, symbols);
  CHECK(used == std::set<std::string>{"k", "m"});
  CHECK(symbols.to_string(unused_size("k", used, symbols)) == "k_");
  CHECK(symbols.to_string(unused_size("k", used, symbols)) == "k__");
  CHECK(symbols.to_string(unused_size("n", used, symbols)) == "n");
}

}  // namespace
}  // namespace rulemill::algebra
