#include "algebra/rules/general_rules.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "algebra/terms/any_rank.h"
#include "algebra/terms/open_parameters.h"
#include "algebra/terms/rule_text.h"
#include "runtime/error.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

constexpr const char* definitions = R"(
operator neg(x[d...])
  y[i... < d...] = -x[i...]
operator total(x[d..., m])
  y[i... < d...] = sum(p < m) x[i..., p]
operator mean(x[d..., e])
  y[] = sum(i... < d..., p < e) x[i..., p] / (product(d...) * e)
operator corner(x[d...])
  y[i... < d...] = x[i...] if offset(i...) = 0 else 0
operator flip(x[m, d...])
  y[r < m, i... < d...] = x[m - 1 - r, i...]
operator flipped_twice(x[m, d...])
  y[r < m, i... < d...] = x[r, i...]
operator joined(a[d...], b[e...]; axis < rank)
  where d = e except axis
  y[i... < d... with axis: d[axis] + e[axis]] = a[i...] if i[axis] < d[axis] else b[i... with axis: i[axis] - d[axis]]
operator turned(x[d...]; perm: permutation)
  y[i... < d...[perm]] = x[i... at perm]
operator spaced(x[m]; stride: int = 1, far: int = 1)
  where 1 <= stride, 1 <= far
  y[i < (m - 1) // stride + 1] = x[i * stride * far]
operator put(x[m, n]; rows: int, cols: int)
  where 1 <= rows, 1 <= cols
  y[i < rows, j < cols] = x[i, j]
operator first(x[m, n])
  y[] = x[0, 0]
operator taken(x[m]; at: int)
  where at < m
  y[] = x[at]
operator chosen(x[m]; way: int = 1)
  let step = 1 if way = 1 else 0
  y[i < m] = x[i * step]
)";

struct Bench {
  Library library;
  TermBank bank{library};
  Symbols symbols;

  Bench() { library.add(definitions, "test.op"); }

  Rule rule(const std::string& text) {
    const auto types = infer_types(parse_rules(text, "test", library, bank, symbols).at(0), bank, symbols);
    REQUIRE(std::holds_alternative<TypedRule>(types));
    return std::get<TypedRule>(types).rule;
  }
  std::string at(const std::string& text, const std::string& group, std::uint32_t rank) {
    const auto other = with_rank(rule(text), symbols.size(group), rank, library, bank, symbols);
    return other ? to_string(*other, bank, symbols) : "none";
  }
  std::string general(const std::string& text) {
    return to_string(at_any_rank(rule(text), library, bank, symbols), bank, symbols);
  }
};

}  // namespace

TEST_CASE("a size that is only passed through may be any number of dimensions") {
  Bench bench;
  CHECK(bench.at("rule r(x[d, m]) total(neg(x)) => neg(total(x))", "d", 2) ==
        "rule r(x[d_1, d_2, m])\n  total(neg(x))\n  => neg(total(x))\n");
  CHECK(bench.at("rule r(x[d, m]) total(neg(x)) => neg(total(x))", "d", 0) ==
        "rule r(x[m])\n  total(neg(x))\n  => neg(total(x))\n");
  CHECK(bench.at("rule r(x[d, m]) total(neg(x)) => neg(total(x))", "m", 2) == "none");
  CHECK(bench.at("rule r(x[d, e]) mean(neg(x)) => neg(mean(x))", "d", 3) ==
        "rule r(x[d_1, d_2, d_3, e])\n  mean(neg(x))\n  => neg(mean(x))\n");
  // A position computed from the indices is more than passing them through, whether or not it would come to the same.
  CHECK(bench.at("rule r(x[d, e]) corner(neg(x)) => neg(corner(x))", "d", 2) == "none");
  CHECK(bench.at("rule r(x[m, d]) flip(flip(x)) => flipped_twice(x)", "m", 2) == "none");
  CHECK(bench.at("rule r(x[m, d]) flip(flip(x)) => flipped_twice(x)", "d", 2) ==
        "rule r(x[m, d_1, d_2])\n  flip(flip(x))\n  => flipped_twice(x)\n");
}

TEST_CASE("axes and orders of axes move with the groups before them") {
  Bench bench;
  CHECK(bench.at("rule r(x[d, m], y[d, n]) neg(joined(x, y; axis=1)) => joined(neg(x), neg(y); axis=1)", "d", 3) ==
        "rule r(x[d_1, d_2, d_3, m], y[d_1, d_2, d_3, n])\n  neg(joined(x, y; axis=3))\n  => joined(neg(x), neg(y); "
        "axis=3)\n");
  CHECK(bench.at("rule r(x[d, m, e]) turned(neg(x); perm=[2,0,1]) => neg(turned(x; perm=[2,0,1]))", "d", 2)
            .find("perm=[3,0,1,2]") != std::string::npos);
  CHECK(bench.at("rule r(x[d, m, e]) turned(neg(x); perm=[2,0,1]) => neg(turned(x; perm=[2,0,1]))", "e", 0)
            .find("perm=[0,1]") != std::string::npos);
}

TEST_CASE("groups side by side are one") {
  Bench bench;
  CHECK(bench.general("rule r(x[a, b, c, m]) total(neg(x)) => neg(total(x))") ==
        "rule r(x[a..., m])\n  total(neg(x))\n  => neg(total(x))\n");
  CHECK(
      bench.general(
          "rule r(x[a, m, b, c], y[a, n, b, c]) neg(joined(x, y; axis=1)) => joined(neg(x), neg(y); axis=1)") ==
      "rule r(x[a..., m, b...], y[a..., n, b...])\n  neg(joined(x, y; axis=1))\n  => joined(neg(x), neg(y); axis=1)\n");
  // An order that parts them keeps them apart.
  CHECK(bench.general("rule r(x[a, b]) turned(neg(x); perm=[1,0]) => neg(turned(x; perm=[1,0]))") ==
        "rule r(x[a..., b...])\n  turned(neg(x); perm=[1,0])\n  => neg(turned(x; perm=[1,0]))\n");
}

TEST_CASE("integer parameters are opened together and given numbers again") {
  Bench bench;
  const Rule closed = bench.rule("rule r(x[m]) spaced(neg(x); stride=2, far=3) => neg(spaced(x; stride=2, far=3))");
  const auto open =
      with_open(closed, parameter_classes(closed, bench.bank, false), bench.library, bench.bank, bench.symbols, false);
  REQUIRE(open);
  CHECK(to_string(*open, bench.bank, bench.symbols) ==
        "rule r(x[m])\n  spaced(neg(x); stride=stride, far=far)\n  => neg(spaced(x; stride=stride, far=far))\n");
  CHECK(is_general(*open, bench.bank));
  const Substitution numbers = {{bench.symbols.size("stride"), Poly(2)}, {bench.symbols.size("far"), Poly(3)}};
  const auto again = with_sizes(*open, numbers, bench.library, bench.bank, bench.symbols);
  REQUIRE(again);
  CHECK(again->source == closed.source);
  CHECK(again->target == closed.target);
  CHECK_FALSE(is_general(*again, bench.bank));
  // Text says both, and a definition that chooses by the number needs it.
  CHECK(bench.rule(to_string(*open, bench.bank, bench.symbols)).source == open->source);
  const Rule needs = bench.rule("rule r(x[m]) chosen(neg(x)) => neg(chosen(x))");
  CHECK_FALSE(
      with_open(needs, parameter_classes(needs, bench.bank, false), bench.library, bench.bank, bench.symbols, false));
  CHECK_THROWS_WITH(bench.rule("rule r(x[m]) chosen(x; way=s) => x"),
                    Catch::Contains("'way' is open here, and the definition chooses by its number"));
}

TEST_CASE("a parameter that is 0 is open from 0 on") {
  Bench bench;
  const Rule closed = bench.rule("rule r(x[m]) taken(neg(x); at=0) => neg(taken(x; at=0))");
  const auto open =
      with_open(closed, parameter_classes(closed, bench.bank, false), bench.library, bench.bank, bench.symbols, false);
  REQUIRE(open);
  CHECK(to_string(*open, bench.bank, bench.symbols) ==
        "rule r(x[m])\n  taken(neg(x); at=at - 1)\n  => neg(taken(x; at=at - 1))\n");
  CHECK(bench.rule(to_string(*open, bench.bank, bench.symbols)).source == open->source);
  for (const std::int64_t at : {0, 2}) {
    const auto again =
        with_sizes(*open, {{bench.symbols.size("at"), Poly(at + 1)}}, bench.library, bench.bank, bench.symbols);
    REQUIRE(again);
    CHECK(bench.library.instance(bench.bank.node_of(again->source[0]).instance).parameters.at("at") ==
          ParameterValue(at));
  }
  CHECK_THROWS_WITH(bench.rule("rule r(x[m]) taken(x; at=s - 2) => taken(x; at=s - 2)"),
                    Catch::Contains("test:1:23: 'at' may be negative"));
}

TEST_CASE("general rules are used at the ranks and numbers that occur") {
  Bench bench;
  RuleRecord rank, stride, other;
  rank.rule = at_any_rank(bench.rule("rule r1(x[d, m]) total(neg(x)) => neg(total(x))"), bench.library, bench.bank,
                          bench.symbols);
  stride.rule = bench.rule("rule r2(x[m]) spaced(neg(x); stride=s) => neg(spaced(x; stride=s))");
  other.rule = bench.rule("rule r3(x[m]) neg(neg(x)) => flipped_twice(x)");
  Occurrences found;
  const std::uint32_t one[] = {1}, three[] = {3}, two[] = {2};
  for (const auto& ranks : {one, three}) found.instances.insert(bench.library.instantiate("neg", {}, {ranks, 1}).id);
  found.instances.insert(bench.library.instantiate("total", {}, three).id);
  found.instances.insert(bench.library.instantiate("spaced", {{"stride", std::int64_t{4}}}, one).id);
  const std::vector<RuleRecord> used =
      at_instances({rank, stride, other}, found, bench.library, bench.bank, bench.symbols);
  std::vector<std::string> names;
  for (const RuleRecord& record : used) names.push_back(record.rule.id);
  CHECK(names == std::vector<std::string>{"r3", "r1@d=2", "r2@s=4"});
  CHECK(std::ranges::none_of(used, [&](const RuleRecord& record) { return is_general(record.rule, bench.bank); }));
  // At an operator that the model does not have, the numbers that occur.
  found.instances.insert(bench.library.instantiate("total", {}, two).id);
  found.instances.insert(bench.library.instantiate("neg", {}, two).id);
  CHECK(at_instances({rank}, found, bench.library, bench.bank, bench.symbols).size() == 2);
}

TEST_CASE("what an operator would make must be of a shape that occurs, where its type says numbers") {
  Bench bench;
  RuleRecord made;
  made.rule = bench.rule("rule s(x[m, n]) first(neg(x)) => neg(first(put(x; rows=rows, cols=cols)))");
  Occurrences found;
  const std::uint32_t two[] = {2};
  for (const char* name : {"neg", "first"}) found.instances.insert(bench.library.instantiate(name, {}, two).id);
  const auto names = [&] {
    std::vector<std::string> result;
    for (const auto& each : at_instances({made}, found, bench.library, bench.bank, bench.symbols))
      result.push_back(each.rule.id);
    return result;
  };
  CHECK(names().empty());
  found.shapes = {{3, 5}, {7, 2, 2}};
  CHECK(names() == std::vector<std::string>{"s@rows=3,cols=5"});
  found.shapes.insert({100, 100});
  CHECK(names() == std::vector<std::string>{"s@rows=3,cols=5"});
}

TEST_CASE(
    "a set's rules in general form have their instances where their operators occur in the set, under names that say "
    "them") {
  Bench bench;
  std::vector<RuleRecord> rules(3);
  rules[0].rule = at_any_rank(bench.rule("rule r1(x[d, m]) total(neg(x)) => neg(total(x))"), bench.library, bench.bank,
                              bench.symbols);
  rules[1].rule = bench.rule("rule r2(x[m]) spaced(neg(x); stride=s) => neg(spaced(x; stride=s))");
  rules[2].rule = bench.rule("rule r3(x[m, n, k]) total(neg(neg(x))) => total(x)");
  const auto instances = instances_within(rules, bench.library, bench.bank, bench.symbols);
  REQUIRE(instances.size() == 3);
  REQUIRE(instances[0].size() == 1);  // at rank 1 it is the rule itself
  CHECK(instances[0][0].rule.id == "r1@d=2");
  CHECK(instances[1].empty());
  CHECK(instances[2].empty());
  const auto named = [&](std::size_t rule, std::string_view name) {
    return instance_named(rules[rule].rule, name, bench.library, bench.bank, bench.symbols);
  };
  REQUIRE(named(0, "@d=2"));
  CHECK(named(0, "@d=2")->source == instances[0][0].rule.source);
  CHECK(named(0, "@d=2")->groups.empty());
  REQUIRE(named(1, "@s=4"));
  CHECK(bench.library.instance(bench.bank.node_of(named(1, "@s=4")->source[0]).instance).name ==
        "spaced{far=1,stride=4}");
  for (const char* no_instance : {"@d=9", "@d", "@d=-1", "@d=2x", "@m=2", "@other=1"}) {
    INFO(no_instance);
    CHECK_FALSE(named(0, no_instance));
  }
  CHECK_FALSE(named(2, "@m=2"));
}
