#include "algebra/rules/rule_set.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <random>
#include <utility>

#include "algebra/language/poly_parser.h"
#include "algebra/rules/rule_set_format.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"
#include "tests/shipped_operators.h"

namespace rulemill::algebra {
namespace {

using Catch::Contains;
using runtime::InputError;

const char* const rules_text = R"(
rule distributes(x[m, k], a[k, n], b[k, n])
  matmul(x, add(a, b)) => add(matmul(x, a), matmul(x, b))
rule merge(x[m, k], a[k, n], b[k, l])
  let s = split(matmul(x, concat(a, b; axis=1)); axis=1, at=n)
  matmul(x, a), matmul(x, b) => s.first, s.second
rule constants(x[m, n], s[])
  scale(mul(matmul(x, identity(; n=n)), ones(; d=[m, n])), s)
  => transpose(transpose(scale(x, s); perm=[1, 0], order=copy); perm=[1, 0], order=copy)
rule conv(x[n, 2*c, h, w], k[2*f, c, 3, 3])
  relu(conv2d(x, k; stride=2, pad=valid)) => conv2d(x, k; stride=2, pad=valid, act=relu)
  when 3 <= h, w != 4
)";

struct RuleFixture {
  Library library = shipped_operators();
  TermBank bank{library};
  Symbols symbols;

  RuleSet sample() {
    RuleSet set;
    set.provenance.profile_name = "small";
    set.provenance.profile_digest = "0123abcd";
    set.provenance.seeds = {1, 2, 1ull << 63};
    set.provenance.build = "0.1.0";
    set.provenance.solver = "Z3 4.8.12";
    set.provenance.max_operators = 3;
    set.funnel = {{"nodes", 8881}, {"candidates", 12}};
    for (const Rule& rule : parse_rules(rules_text, "test", library, bank, symbols)) {
      RuleRecord record;
      record.rule = rule;
      record.rule.tier = set.rules.empty() ? Tier::Core : Tier::Derived;
      record.certificate = {Certificate::Kind::Definitions, "(assert (= a\n b))"};
      record.statistics = {13, 2};
      record.reversible = rule.id == "merge";
      if (rule.id == "merge") record.phase = SearchPhase::WithDerived;
      if (rule.id == "distributes") record.phase = SearchPhase::WithCore;
      if (rule.id == "distributes") record.example = {{2, 4}, {4, 4}, {4, 4}};
      set.rules.push_back(record);
    }
    return set;
  }
  RuleSet parse(const std::string& bytes) { return parse_rule_set(bytes, "db", library, bank, symbols); }
};

/// The error message for the bytes.
std::string rejection(const std::string& bytes, RuleFixture fixture = {}) {
  try {
    fixture.parse(bytes);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

/// The sample with one change to its message and a correct checksum.
template <class Change>
std::string changed(Change&& change) {
  RuleFixture fixture;
  proto::RuleSet set;
  REQUIRE(set.ParseFromString(serialize(fixture.sample(), fixture.bank, fixture.symbols)));
  set.clear_checksum();
  change(set);
  const std::string bytes = set.SerializeAsString();
  return bytes + checksum_field(bytes);
}

}  // namespace

TEST_CASE("a record that is joined from parts has the bytes of a serialized one") {
  RuleFixture fixture;
  RuleSet set = fixture.sample();
  set.rules[0].certificate.text = std::string(300'000, 'x');  // a length of three bytes
  RuleSetWriter whole(fixture.library), joined(fixture.library);
  std::vector<std::string> records, parts;
  for (const RuleRecord& record : set.rules) {
    records.push_back(whole.serialize(record, fixture.bank, fixture.symbols));
    RuleRecord named, unnamed = record;
    named.rule.id = std::exchange(unnamed.rule.id, "another");
    named.rule.tier = std::exchange(unnamed.rule.tier, Tier::None);
    named.certificate = std::exchange(unnamed.certificate, {});
    named.statistics = std::exchange(unnamed.statistics, {});
    named.example = std::exchange(unnamed.example, {});
    parts.push_back(joined.join(named, serialize_parts(unnamed, fixture.bank, fixture.symbols)));
  }
  CHECK(parts == records);
  CHECK(joined.finish(set.provenance, parts, set.funnel) == whole.finish(set.provenance, records, set.funnel));
}

TEST_CASE("a database that is too large is rejected with its size") {
  RuleFixture fixture;
  const RuleSet set = fixture.sample();
  const std::size_t size = serialize(set, fixture.bank, fixture.symbols).size();
  CHECK_THROWS_WITH(serialize(set, fixture.bank, fixture.symbols, size / 2),
                    Contains("rule database") && Contains("rules need") && Contains("smaller profile"));
}

TEST_CASE("parsing a serialized rule set in another bank gives it back") {
  RuleFixture from, to;
  to.bank.variable("other", 3);
  to.symbols.size("zz");
  const RuleSet set = from.sample();
  const std::string bytes = serialize(set, from.bank, from.symbols);
  const RuleSet back = to.parse(bytes);
  REQUIRE(back.rules.size() == set.rules.size());
  for (std::size_t i = 0; i < set.rules.size(); ++i) {
    CHECK(to_string(back.rules[i].rule, to.bank, to.symbols) == to_string(set.rules[i].rule, from.bank, from.symbols));
    CHECK(back.rules[i].rule.tier == set.rules[i].rule.tier);
    CHECK(back.rules[i].certificate == set.rules[i].certificate);
    CHECK(back.rules[i].statistics == set.rules[i].statistics);
    CHECK(back.rules[i].reversible == set.rules[i].reversible);
    CHECK(back.rules[i].phase == set.rules[i].phase);
    CHECK(back.rules[i].example == set.rules[i].example);
  }
  RuleRecord record;
  record.rule.tier = Tier::Derived;
  for (const auto& [turn, later] : {std::pair(SearchPhase::ByTier, true), std::pair(SearchPhase::WithCore, false),
                                    std::pair(SearchPhase::WithDerived, true)}) {
    record.phase = turn;
    CHECK(is_late(record) == later);
  }
  CHECK(back.funnel == set.funnel);
  CHECK(back.provenance.seeds == set.provenance.seeds);
  CHECK(back.provenance.solver == "Z3 4.8.12");
  CHECK(back.provenance.operator_digests.size() == 11);
  CHECK(serialize(back, to.bank, to.symbols) == bytes);
}

TEST_CASE("a typed rule types again, or the error names what it does not state") {
  RuleFixture fixture;
  RuleSet set = fixture.sample();
  for (const RuleRecord& record : set.rules)
    CHECK(find_typing_error(record.rule, fixture.bank, fixture.symbols) == std::nullopt);
  Rule& rule = set.rules[0].rule;
  rule.shapes[0][1] = 3;
  CHECK(find_typing_error(rule, fixture.bank, fixture.symbols) == "types only if a is [3, n], found [k, n]");
  rule.shapes[1][0] = 4;
  CHECK_THAT(find_typing_error(rule, fixture.bank, fixture.symbols).value_or(""), Contains("does not type: "));
  const Rule free = parse_rule("rule t(x[3]) slice(x; axis=0, from=0, to=k) => x", "test", fixture.library,
                               fixture.bank, fixture.symbols);
  CHECK(find_typing_error(free, fixture.bank, fixture.symbols) ==
        "types only if slice(x; axis=0, from=0, to=k) is slice(x; axis=0, from=0, to=3)");
}

TEST_CASE("a rule set is saved to a file and loaded from it") {
  RuleFixture fixture;
  const auto path =
      std::filesystem::temp_directory_path() / ("rulemill_rule_set_test_" + std::to_string(::getpid()) + ".rmdb");
  save(fixture.sample(), fixture.bank, fixture.symbols, path);
  CHECK(load_rule_set(path, fixture.library, fixture.bank, fixture.symbols).rules.size() == 4);
  std::filesystem::remove(path);
  CHECK_THROWS_AS(load_rule_set(path, fixture.library, fixture.bank, fixture.symbols), runtime::IoError);
}

TEST_CASE("a truncated or changed database is rejected") {
  RuleFixture fixture;
  const std::string bytes = serialize(fixture.sample(), fixture.bank, fixture.symbols);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK_THROWS_AS(fixture.parse(bytes.substr(0, length)), InputError);
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
    CHECK_THROWS_AS(fixture.parse(damaged), InputError);
  }
  CHECK_THAT(rejection("not a database"), Contains("db: is not a rule database"));
  CHECK_THAT(rejection(bytes.substr(0, bytes.size() - 1)), Contains("cut short"));
}

TEST_CASE("a database with another schema or other definitions is rejected with the difference") {
  CHECK(rejection(changed([](auto& set) { set.set_schema_version(1); })) == "accepted");
  const auto reversible = [](auto& set) {
    set.mutable_rules(0)->set_widens(true);
    set.mutable_rules(0)->set_reversible(true);
  };
  CHECK_THAT(rejection(changed(reversible)), Contains("reversible is true of a rule that widens"));
  const auto widening = [](auto& set) {
    set.mutable_rules(0)->set_widens(true);
    set.mutable_rules(0)->set_reversible(false);
  };
  CHECK(rejection(changed(widening)) == "accepted");
  CHECK_THAT(rejection(changed([&](auto& set) {
               widening(set);
               set.set_schema_version(1);
             })),
             Contains("schema version 1, expected 2"));
  CHECK_THAT(rejection(changed([](auto& set) { set.set_schema_version(3); })),
             Contains("schema version 3, expected 2"));
  const auto folder =
      std::filesystem::temp_directory_path() / ("rulemill_other_definitions_" + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  std::filesystem::copy(RULEMILL_SOURCE_DIR "/data/operators", folder, std::filesystem::copy_options::recursive);
  std::string text = runtime::read_file(folder / "elementwise.op");
  const std::string what = "y[i... < d...] = a[i...] + b[i...]";
  REQUIRE(text.find(what) != std::string::npos);
  text.replace(text.find(what), what.size(), "y[i... < d...] = a[i...] + 2 * b[i...] - b[i...]");
  runtime::write_file(folder / "elementwise.op", text);
  Library other = Library::load(folder);
  std::filesystem::remove_all(folder);
  TermBank bank(other);
  Symbols symbols;
  RuleFixture fixture;
  const std::string bytes = serialize(fixture.sample(), fixture.bank, fixture.symbols);
  try {
    parse_rule_set(bytes, "db", other, bank, symbols);
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK_THAT(error.what(), Contains("operator 'add' is defined otherwise") && Contains("expected"));
  }
}

TEST_CASE("a damaged rule is rejected with its number and field") {
  const auto with = [](auto change) { return rejection(changed([&](proto::RuleSet& set) { change(set); })); };
  using Set = proto::RuleSet;
  CHECK_THAT(with([](Set& s) { s.mutable_rules(1)->mutable_nodes(0)->set_operator_("blur"); }),
             Contains("db: rule 2 (merge): nodes[0] names the unknown operator 'blur'"));
  CHECK_THAT(with([](Set& s) { s.mutable_rules(0)->mutable_variables(2)->set_name("x"); }),
             Contains("rule 1 (distributes): variables[2]"));
  CHECK_THAT(with([](Set& s) { s.mutable_rules(0)->mutable_variables(0)->set_shape(1, "k +"); }),
             Contains("rule 1 (distributes): variables[0].shape[1]:1:4"));
  CHECK_THAT(with([](Set& s) {
               s.mutable_rules(0)->mutable_variables(0)->set_shape(1, "3");
               s.mutable_rules(0)->mutable_variables(1)->set_shape(0, "4");
             }),
             Contains("rule 1 (distributes): is ill-typed: "));
  CHECK_THAT(with([](Set& s) { s.mutable_rules(0)->mutable_source(0)->set_node(9); }), Contains("source[0] is node 9"));
  CHECK_THAT(with([](Set& s) { s.mutable_rules(1)->mutable_target(0)->set_output(2); }),
             Contains("target[0] is output 2 of a node that has 2"));
  CHECK_THAT(with([](Set& s) { s.mutable_rules(0)->mutable_nodes(0)->mutable_arguments(0)->set_node(0); }),
             Contains("nodes[0].arguments[0] is node 0, expected one before it"));
  CHECK_THAT(with([](Set& s) { s.mutable_rules(0)->mutable_nodes(0)->mutable_arguments(0)->set_variable(3); }),
             Contains("expected one of the 3"));
  CHECK_THAT(with([](Set& s) { s.mutable_rules(0)->clear_target(); }), Contains("target has 0 outputs"));
  CHECK_THAT(with([](Set& s) { s.mutable_rules(0)->mutable_nodes(0)->add_sizes("2"); }),
             Contains("nodes[0] has 2 arguments and 1 sizes"));
  CHECK_THAT(with([](Set& s) { s.mutable_rules(3)->mutable_nodes(0)->mutable_parameters(0)->set_word("soft"); }),
             Contains("nodes[0] does not fit its operator") && Contains("act"));
  CHECK_THAT(with([](Set& s) { s.mutable_rules(3)->mutable_condition(0)->set_right("div(h, 0)"); }),
             Contains("condition[0].right:1:1: division by zero"));
  CHECK_THAT(with([](Set& s) { s.mutable_rules(0)->mutable_example(0)->add_sizes(1); }), Contains("example[0]"));
  CHECK_THAT(with([](Set& s) { s.mutable_provenance()->mutable_operators(0)->set_name("blur"); }),
             Contains("operator 'blur', which the definitions do not have"));
  CHECK_THAT(with([](Set& s) { s.mutable_provenance()->clear_operators(); }),
             Contains("whose digest the database does not give"));
}

TEST_CASE("random damage with a correct checksum is rejected or parsed, without a crash") {
  RuleFixture fixture;
  const std::string bytes = serialize(fixture.sample(), fixture.bank, fixture.symbols);
  const std::string content = bytes.substr(0, bytes.size() - checksum_field("").size());
  std::mt19937_64 random(11);
  int rejected = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = content;
    for (std::uint64_t n = 1 + random() % 3; n > 0; --n)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 128);
    try {
      fixture.parse(damaged + checksum_field(damaged));
    } catch (const runtime::Error&) {
      ++rejected;
    }
  }
  CHECK(rejected > 500);
}

TEST_CASE("parsing a formatted polynomial gives it back") {
  Symbols symbols;
  const auto round = [&](const std::string& text) { return symbols.to_string(parse_poly(text, "test", symbols)); };
  for (const char* text : {"0", "7", "m", "m + 1", "2*m*n - 3", "m - n", "-m", "div(h - 1, 2) + 1", "max(m, n)",
                           "min(m, 2*n) + k", "m*m*n", "div(h + w, n)*k"}) {
    CHECK(round(round(text)) == round(text));
  }
  CHECK(round("(m + n)*(m - n)") == round("m*m - n*n"));
  CHECK(round("mod(m, n)") == round("m - n*div(m, n)"));
  CHECK(round("div(2*m, 2)") == "m");
  for (const char* text : {"", "m +", "m n", "2 * ", "div(m)", "sqrt(m, n)", "div(m, 0)", "(m", "m)", "1.5", "[m"}) {
    CHECK_THROWS_AS(round(text), InputError);
  }
  CHECK_THROWS_AS(round(std::string(100000, '(')), InputError);
  CHECK_THROWS_AS(round(std::string(100000, '-') + "m"), InputError);
}

}  // namespace rulemill::algebra
