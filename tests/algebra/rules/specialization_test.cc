#include "algebra/rules/specialization.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "algebra/terms/dimension_packs.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/symbolic_parameters.h"
#include "runtime/text/error.h"

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

struct SpecializationFixture {
  Library library;
  TermBank bank{library};
  Symbols symbols;

  SpecializationFixture() { library.add(definitions, "test.op"); }

  Rule rule(const std::string& text) {
    const auto types = infer_types(parse_rules(text, "test", library, bank, symbols).at(0), bank, symbols);
    REQUIRE(std::holds_alternative<TypedRule>(types));
    return std::get<TypedRule>(types).rule;
  }
  std::vector<std::string> specialized_ids(const std::vector<RuleRecord>& rules, const UsedOperators& used) {
    std::vector<std::string> ids;
    for (const RuleRecord& record : specialize(rules, used, library, bank, symbols)) ids.push_back(record.rule.id);
    return ids;
  }
  std::string expand(const std::string& text, const std::string& pack, std::uint32_t rank) {
    const auto other = expand_pack(rule(text), symbols.size(pack), rank, library, bank, symbols);
    return other ? to_string(*other, bank, symbols) : "none";
  }
  std::string generalize(const std::string& text) {
    return to_string(generalize_rank(rule(text), library, bank, symbols), bank, symbols);
  }
};

}  // namespace

TEST_CASE("a size that is only passed through can be expanded to any number of dimensions") {
  SpecializationFixture fixture;
  CHECK(fixture.expand("rule r(x[d, m]) total(neg(x)) => neg(total(x))", "d", 2) ==
        "rule r(x[d_1, d_2, m])\n  total(neg(x))\n  => neg(total(x))\n");
  CHECK(fixture.expand("rule r(x[d, m]) total(neg(x)) => neg(total(x))", "d", 0) ==
        "rule r(x[m])\n  total(neg(x))\n  => neg(total(x))\n");
  CHECK(fixture.expand("rule r(x[d, m]) total(neg(x)) => neg(total(x))", "m", 2) == "none");
  CHECK(fixture.expand("rule r(x[d, e]) mean(neg(x)) => neg(mean(x))", "d", 3) ==
        "rule r(x[d_1, d_2, d_3, e])\n  mean(neg(x))\n  => neg(mean(x))\n");
  // Using the indices in a computation is more than passing them through, even if the result is the same.
  CHECK(fixture.expand("rule r(x[d, e]) corner(neg(x)) => neg(corner(x))", "d", 2) == "none");
  CHECK(fixture.expand("rule r(x[m, d]) flip(flip(x)) => flipped_twice(x)", "m", 2) == "none");
  CHECK(fixture.expand("rule r(x[m, d]) flip(flip(x)) => flipped_twice(x)", "d", 2) ==
        "rule r(x[m, d_1, d_2])\n  flip(flip(x))\n  => flipped_twice(x)\n");
}

TEST_CASE("axes and permutations move with the packs before them") {
  SpecializationFixture fixture;
  CHECK(
      fixture.expand("rule r(x[d, m], y[d, n]) neg(joined(x, y; axis=1)) => joined(neg(x), neg(y); axis=1)", "d", 3) ==
      "rule r(x[d_1, d_2, d_3, m], y[d_1, d_2, d_3, n])\n  neg(joined(x, y; axis=3))\n  => joined(neg(x), neg(y); "
      "axis=3)\n");
  CHECK(fixture.expand("rule r(x[d, m, e]) turned(neg(x); perm=[2,0,1]) => neg(turned(x; perm=[2,0,1]))", "d", 2)
            .find("perm=[3,0,1,2]") != std::string::npos);
  CHECK(fixture.expand("rule r(x[d, m, e]) turned(neg(x); perm=[2,0,1]) => neg(turned(x; perm=[2,0,1]))", "e", 0)
            .find("perm=[0,1]") != std::string::npos);
}

TEST_CASE("adjacent packs are merged") {
  SpecializationFixture fixture;
  CHECK(fixture.generalize("rule r(x[a, b, c, m]) total(neg(x)) => neg(total(x))") ==
        "rule r(x[a..., m])\n  total(neg(x))\n  => neg(total(x))\n");
  CHECK(
      fixture.generalize(
          "rule r(x[a, m, b, c], y[a, n, b, c]) neg(joined(x, y; axis=1)) => joined(neg(x), neg(y); axis=1)") ==
      "rule r(x[a..., m, b...], y[a..., n, b...])\n  neg(joined(x, y; axis=1))\n  => joined(neg(x), neg(y); axis=1)\n");
  // A permutation that separates them prevents it.
  CHECK(fixture.generalize("rule r(x[a, b]) turned(neg(x); perm=[1,0]) => neg(turned(x; perm=[1,0]))") ==
        "rule r(x[a..., b...])\n  turned(neg(x); perm=[1,0])\n  => neg(turned(x; perm=[1,0]))\n");
}

TEST_CASE("integer parameters of a class become symbolic together and numbers again") {
  SpecializationFixture fixture;
  const Rule concrete = fixture.rule("rule r(x[m]) spaced(neg(x); stride=2, far=3) => neg(spaced(x; stride=2, far=3))");
  const auto symbolic = with_symbolic_parameters(concrete, parameter_classes(concrete, fixture.bank, false),
                                                 fixture.library, fixture.bank, fixture.symbols, false);
  REQUIRE(symbolic);
  CHECK(to_string(*symbolic, fixture.bank, fixture.symbols) ==
        "rule r(x[m])\n  spaced(neg(x); stride=stride, far=far)\n  => neg(spaced(x; stride=stride, far=far))\n");
  CHECK(is_general(*symbolic, fixture.bank));
  const Substitution numbers = {{fixture.symbols.size("stride"), Poly(2)}, {fixture.symbols.size("far"), Poly(3)}};
  const auto again = substitute_sizes(*symbolic, numbers, fixture.library, fixture.bank, fixture.symbols);
  REQUIRE(again);
  CHECK(again->source == concrete.source);
  CHECK(again->target == concrete.target);
  CHECK_FALSE(is_general(*again, fixture.bank));
  // The text form expresses both. A definition that branches on the number needs it.
  CHECK(fixture.rule(to_string(*symbolic, fixture.bank, fixture.symbols)).source == symbolic->source);
  const Rule needs = fixture.rule("rule r(x[m]) chosen(neg(x)) => neg(chosen(x))");
  CHECK_FALSE(with_symbolic_parameters(needs, parameter_classes(needs, fixture.bank, false), fixture.library,
                                       fixture.bank, fixture.symbols, false));
  CHECK_THROWS_WITH(fixture.rule("rule r(x[m]) chosen(x; way=s) => x"),
                    Catch::Contains("'way' is symbolic here, but the definition depends on its value"));
}

TEST_CASE("a parameter with the value 0 becomes symbolic from 0 on") {
  SpecializationFixture fixture;
  const Rule concrete = fixture.rule("rule r(x[m]) taken(neg(x); at=0) => neg(taken(x; at=0))");
  const auto symbolic = with_symbolic_parameters(concrete, parameter_classes(concrete, fixture.bank, false),
                                                 fixture.library, fixture.bank, fixture.symbols, false);
  REQUIRE(symbolic);
  CHECK(to_string(*symbolic, fixture.bank, fixture.symbols) ==
        "rule r(x[m])\n  taken(neg(x); at=at - 1)\n  => neg(taken(x; at=at - 1))\n");
  CHECK(fixture.rule(to_string(*symbolic, fixture.bank, fixture.symbols)).source == symbolic->source);
  for (const std::int64_t at : {0, 2}) {
    const auto again = substitute_sizes(*symbolic, {{fixture.symbols.size("at"), Poly(at + 1)}}, fixture.library,
                                        fixture.bank, fixture.symbols);
    REQUIRE(again);
    CHECK(fixture.library.instance(fixture.bank.node_of(again->source[0]).instance).parameters.at("at") ==
          ParameterValue(at));
  }
  const char* below = "rule r(x[m])\n  taken(x; at=m - s)\n  => taken(x; at=m - s)\n";  // the types require s <= m
  CHECK(to_string(fixture.rule(below), fixture.bank, fixture.symbols) == below);
}

TEST_CASE("general rules are specialized to the ranks and numbers that occur") {
  SpecializationFixture fixture;
  RuleRecord rank, stride, other;
  rank.rule = generalize_rank(fixture.rule("rule r1(x[d, m]) total(neg(x)) => neg(total(x))"), fixture.library,
                              fixture.bank, fixture.symbols);
  stride.rule = fixture.rule("rule r2(x[m]) spaced(neg(x); stride=s) => neg(spaced(x; stride=s))");
  other.rule = fixture.rule("rule r3(x[m]) neg(neg(x)) => flipped_twice(x)");
  UsedOperators found;
  const std::uint32_t one[] = {1}, three[] = {3}, two[] = {2};
  for (const auto& ranks : {one, three}) found.instances.insert(fixture.library.instantiate("neg", {}, {ranks, 1}).id);
  found.instances.insert(fixture.library.instantiate("total", {}, three).id);
  found.instances.insert(fixture.library.instantiate("spaced", {{"stride", std::int64_t{4}}}, one).id);
  const std::vector<RuleRecord> used =
      specialize({rank, stride, other}, found, fixture.library, fixture.bank, fixture.symbols);
  std::vector<std::string> names;
  for (const RuleRecord& record : used) names.push_back(record.rule.id);
  CHECK(names == std::vector<std::string>{"r3", "r1@d=2", "r2@s=4"});
  CHECK(std::ranges::none_of(used, [&](const RuleRecord& record) { return is_general(record.rule, fixture.bank); }));
  // With total and neg at rank 2, too.
  found.instances.insert(fixture.library.instantiate("total", {}, two).id);
  found.instances.insert(fixture.library.instantiate("neg", {}, two).id);
  CHECK(specialize({rank}, found, fixture.library, fixture.bank, fixture.symbols).size() == 2);
}

TEST_CASE("several numbers of a general rule are those of one instance") {
  SpecializationFixture fixture;
  RuleRecord record;
  record.rule = fixture.rule("rule r(x[m]) neg(spaced(x; stride=s, far=f)) => spaced(neg(x); stride=s, far=f)");
  UsedOperators found;
  const std::uint32_t one[] = {1};
  found.instances.insert(fixture.library.instantiate("neg", {}, one).id);
  for (const auto& [stride, far] : {std::pair(4, 1), std::pair(2, 3)}) {
    const Parameters numbers = {{"stride", std::int64_t{stride}}, {"far", std::int64_t{far}}};
    found.instances.insert(fixture.library.instantiate("spaced", numbers, one).id);
  }
  CHECK(fixture.specialized_ids({record}, found) == std::vector<std::string>{"r@s=2,f=3", "r@s=4,f=1"});
}

TEST_CASE("a new operator instance with numeric output dimensions must fit the shape of a constant") {
  SpecializationFixture fixture;
  RuleRecord made;
  made.rule = fixture.rule("rule s(x[m, n]) first(neg(x)) => neg(first(put(x; rows=rows, cols=cols)))");
  UsedOperators found;
  const std::uint32_t two[] = {2};
  for (const char* name : {"neg", "first"}) found.instances.insert(fixture.library.instantiate(name, {}, two).id);
  const auto names = [&] { return fixture.specialized_ids({made}, found); };
  CHECK(names().empty());
  found.constant_shapes = {{3, 5}, {7, 2, 2}};
  CHECK(names() == std::vector<std::string>{"s@rows=3,cols=5"});
  found.constant_shapes.insert({100, 100});
  CHECK(names() == std::vector<std::string>{"s@rows=3,cols=5"});
}

TEST_CASE("specializations within a set use the operator instances of the set, and their names determine them") {
  SpecializationFixture fixture;
  std::vector<RuleRecord> rules(3);
  rules[0].rule = generalize_rank(fixture.rule("rule r1(x[d, m]) total(neg(x)) => neg(total(x))"), fixture.library,
                                  fixture.bank, fixture.symbols);
  rules[1].rule = fixture.rule("rule r2(x[m]) spaced(neg(x); stride=s) => neg(spaced(x; stride=s))");
  rules[2].rule = fixture.rule("rule r3(x[m, n, k]) total(neg(neg(x))) => total(x)");
  const auto instances = specializations_within(rules, fixture.library, fixture.bank, fixture.symbols);
  REQUIRE(instances.size() == 3);
  REQUIRE(instances[0].size() == 1);  // at rank 1 it is the rule itself
  CHECK(instances[0][0].rule.id == "r1@d=2");
  CHECK(instances[1].empty());
  CHECK(instances[2].empty());
  const auto named = [&](std::size_t rule, std::string_view name) {
    return specialize_by_name(rules[rule].rule, name, fixture.library, fixture.bank, fixture.symbols);
  };
  REQUIRE(named(0, "@d=2"));
  CHECK(named(0, "@d=2")->source == instances[0][0].rule.source);
  CHECK(named(0, "@d=2")->packs.empty());
  REQUIRE(named(1, "@s=4"));
  CHECK(fixture.library.instance(fixture.bank.node_of(named(1, "@s=4")->source[0]).instance).name ==
        "spaced{far=1,stride=4}");
  for (const char* no_instance : {"@d=9", "@d", "@d=-1", "@d=2x", "@m=2", "@other=1"}) {
    INFO(no_instance);
    CHECK_FALSE(named(0, no_instance));
  }
  CHECK_FALSE(named(2, "@m=2"));
}
