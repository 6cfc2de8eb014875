// The keys of cached answers, and the rule names in them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "prove/cache/answer_cache.h"
#include "prove/certificate/rule_instance_text.h"
#include "prove/tasks/candidate_result.h"
#include "prove/tasks/worker.h"
#include "runtime/files/scratch_folder.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

std::string twice_transposed(const std::string& name) {
  return "rule " + name +
         "(t1[m, k])\n  transpose(transpose(t1; order=view, perm=[1,0]); perm=[1,0])\n  => transpose(transpose(t1; "
         "perm=[1,0]); perm=[1,0])\n";
}
std::string back(const std::string& name) {
  return "rule " + name + "(t1[m, k])\n  transpose(transpose(t1; perm=[1,0]); perm=[1,0])\n  => t1\n";
}
std::string associative(const std::string& name) {
  return "rule " + name +
         "(t1[m, k], t2[k, n], t3[n, l])\n  matmul(matmul(t1, t2), t3)\n  => matmul(t1, matmul(t2, t3))\n";
}
// Its left side matches products; its right side creates transpositions.
std::string product(const std::string& name) {
  return "rule " + name +
         "(t1[m, k], t2[k, n])\n  matmul(t1, t2)\n  => transpose(matmul(transpose(t2; perm=[1,0]), transpose(t1; "
         "perm=[1,0])); perm=[1,0])\n";
}
std::string goal(const std::string& name) {
  return "rule " + name + "(t1[m, k])\n  transpose(transpose(t1; order=view, perm=[1,0]); perm=[1,0])\n  => t1\n";
}

struct CacheFixture : runtime::ScratchFolder {
  algebra::Library library = shipped_operators();

  std::vector<std::string> updates_for(const std::vector<std::string>& rules) {
    std::vector<std::string> updates;
    for (const std::string& rule : rules) updates.push_back(add_rule_update(rule));
    return updates;
  }
  /// Returns the rules that are reachable from a goal.
  std::vector<std::uint32_t> reachable_from(const std::string& goal_text, const std::vector<std::string>& rules) {
    ReachableRules reachable(library);
    for (const std::string& update : updates_for(rules)) reachable.update_rules(update);
    return reachable.reachable_from(reachable.instances_of(goal_text), 0, 0);
  }
  std::string computed(const std::vector<std::string>& rules, const WorkItem& item) {
    Worker worker(library, {});
    for (const std::string& update : updates_for(rules)) worker.update_rules(update);
    return worker.answer(Task{item.kind, {item.text}, 1}).items.at(0);
  }
  std::optional<std::string> cached(const std::vector<std::string>& rules, const WorkItem& item) {
    AnswerCache cache(path(), library, 1);
    cache.update_rules(updates_for(rules));
    return cache.find(item.kind, item.text);
  }
  void store(const std::vector<std::string>& rules, const WorkItem& item) {
    AnswerCache cache(path(), library, 1);
    cache.update_rules(updates_for(rules));
    cache.add(item.kind, item.text, computed(rules, item));
  }
};

/// Returns what the answers of a worker and of the cache have in common.
std::string comparable(const std::string& text) {
  CandidateResult result = unpack_result(text);
  result.seconds = 0;
  result.goal_operators.clear();
  return pack(result);
}

}  // namespace

TEST_CASE("A rule is reachable if the goal has or reachable rules create all operator instances that it matches") {
  CacheFixture fixture;
  using Rules = std::vector<std::uint32_t>;
  CHECK(fixture.reachable_from(goal("c9"), {associative("c1"), back("c2"), twice_transposed("c3")}) == Rules{1, 2});
  CHECK(fixture.reachable_from(associative("c9"), {associative("c1"), back("c2")}) == Rules{0});
  CHECK(fixture.reachable_from(associative("c9"), {back("c1"), product("c2")}) == Rules{0, 1});
  CHECK(fixture.reachable_from(goal("c9"), {product("c1"), back("c2")}) == Rules{1});
}

TEST_CASE("A cached derivation does not depend on unreachable rules and is returned with the current rule names") {
  CacheFixture fixture;
  const std::vector<std::string> before{back("c1"), twice_transposed("c2")};
  const std::vector<std::string> after{back("c1"), associative("c2"), twice_transposed("c7")};
  const WorkItem item{TaskKind::Explain, goal("c9")}, renamed{TaskKind::Explain, goal("c12")};
  fixture.store(before, item);
  const auto found = fixture.cached(after, renamed);
  REQUIRE(found);
  CHECK(comparable(*found) == comparable(fixture.computed(after, renamed)));
  CHECK(unpack_result(*found).certificate.find("c7:") != std::string::npos);
  CHECK(unpack_result(*found).certificate.find("c2:") == std::string::npos);
}

TEST_CASE("A cached derivation names the enabled one of several known rules of one name") {
  CacheFixture fixture;
  const WorkItem item{TaskKind::Explain, goal("c9")};
  const std::vector<std::string> updates{add_rule_update(twice_transposed("c2")),
                                         add_rule_update(back("c1")),
                                         remove_rule_update(0),
                                         remove_rule_update(1),
                                         add_rule_update(back("c1")),
                                         add_rule_update(twice_transposed("c2"))};
  Worker worker(fixture.library, {});
  for (const std::string& update : updates) worker.update_rules(update);
  AnswerCache cache(fixture.path(), fixture.library, 1);
  cache.update_rules(updates);
  REQUIRE_FALSE(cache.find(item.kind, item.text));
  const std::string answer = worker.answer(Task{item.kind, {item.text}, 1}).items.at(0);
  cache.add(item.kind, item.text, answer);
  REQUIRE(unpack_result(answer).instance_count > 1);
  CHECK(comparable(cache.find(item.kind, item.text).value()) == comparable(answer));
  cache.sync();
  const auto renamed = fixture.cached({back("c7"), twice_transposed("c8")}, item);
  REQUIRE(renamed);
  CHECK(comparable(*renamed) == comparable(fixture.computed({back("c7"), twice_transposed("c8")}, item)));
}

TEST_CASE("A cached record does not depend on the names of its rules and is returned with the current ones") {
  CacheFixture fixture;
  std::string instances;
  const auto item = [&](const std::string& rule, const std::string& first, const std::string& second) {
    const CandidateResult result =
        unpack_result(fixture.computed({back(first), twice_transposed(second)}, {TaskKind::Explain, goal(rule)}));
    instances = result.certificate;
    return WorkItem{TaskKind::CertifyRecord,
                    certificate_request(result.rule, algebra::Certificate::Kind::Derivation, result.certificate,
                                        {{first, back("statement")}, {second, twice_transposed("statement")}})};
  };
  fixture.store({}, item("c9", "r1", "r2"));
  const WorkItem renamed = item("c12", "r8", "r7");
  const auto found = fixture.cached({}, renamed);
  REQUIRE(found);
  CHECK(*found == fixture.computed({}, renamed));
  const std::string certificate = unpack_record(*found).certificate;
  CHECK(certificate.find("; use #0:") != std::string::npos);
  CHECK(with_rule_instances(certificate, instances).find("; use r7:") != std::string::npos);
  CHECK(parse_certificate(with_rule_instances(certificate, instances), "").rule_instances == lines_of(instances));
}

TEST_CASE("A candidate that was derived before is derived again without a comparison of domains") {
  CacheFixture fixture;
  const std::string text =
      "rule c9(t1[2, 8])\n  sqrt(transpose(transpose(t1; perm=[1,0]); perm=[1,0]))\n  => sqrt(t1)\n";
  const std::string other = "rule c9(t1[2, 8])\n  transpose(t1; perm=[1,0])\n  => t1\n";
  const WorkItem item{TaskKind::Derive, text}, underived{TaskKind::Derive, other};
  fixture.store({back("c1")}, item);
  fixture.store({back("c1")}, underived);
  const std::vector<std::string> rules{twice_transposed("c1"), back("c2")};
  AnswerCache cache(fixture.path(), fixture.library, 1);
  cache.update_rules(fixture.updates_for(rules));
  REQUIRE_FALSE(cache.find(TaskKind::Derive, text));
  REQUIRE_FALSE(cache.find(TaskKind::Derive, other));
  const std::string scheduled = cache.item_to_schedule(TaskKind::Derive, text);
  CHECK(scheduled == std::string(same_domain_prefix) + text);
  CHECK(cache.item_to_schedule(TaskKind::Derive, other) == other);
  const std::string answer = fixture.computed(rules, {TaskKind::Derive, scheduled});
  CHECK(comparable(answer) == comparable(fixture.computed(rules, item)));
  cache.add(TaskKind::Derive, scheduled, answer);
  CHECK(comparable(cache.find(TaskKind::Derive, text).value()) == comparable(answer));
}

TEST_CASE("Workers return the operators of a goal, so that goals that were never seen are not parsed") {
  CacheFixture fixture;
  const std::string typed = "rule c9(t1[m, k])\n  transpose(transpose(t1; perm=[1,0]); perm=[1,0])\n  => sqrt(t1)\n";
  const std::string candidate =
      "rule c9(t1[2, 8])\n  sqrt(transpose(transpose(t1; perm=[1,0]); perm=[1,0]))\n  => sqrt(t1)\n";
  const std::string ill_typed = "rule c9(t1[2, 8])\n  transpose(t1; perm=[1,0])\n  => t1\n";
  const auto operators_in = [&](const WorkItem& item) {
    return unpack_result(fixture.computed({back("c1")}, item)).goal_operators;
  };
  const auto operators_of = [&](const std::string& text) {
    return ReachableRules::operators_of_goal(text, fixture.library).all;
  };
  CHECK(operators_of(typed).size() == 2);
  CHECK(operators_in({TaskKind::Explain, typed}) == operators_of(typed));
  CHECK(operators_in({TaskKind::ExplainExtended, typed}) == operators_of(typed));
  CHECK(operators_in({TaskKind::Derive, candidate}) == operators_of(candidate));
  CHECK(operators_in({TaskKind::Derive, std::string(same_domain_prefix) + candidate}) == operators_of(candidate));
  CHECK(operators_in({TaskKind::Derive, ill_typed}) == operators_of(ill_typed));

  AnswerCache cache(fixture.path(), fixture.library, 1);
  cache.update_rules(fixture.updates_for({back("c1")}));
  CHECK_FALSE(cache.find(TaskKind::Explain, "rule c1(t1[m])\n  no_such_operator(t1)\n  => t1\n"));
}

TEST_CASE("A goal is found again unless other rules are reachable from the operators that its worker returned") {
  CacheFixture fixture;
  const WorkItem item{TaskKind::Explain, goal("c9")}, implied{TaskKind::IsRuleImplied, goal("c9")};
  const std::vector<std::string> rules{back("c1"), twice_transposed("c2")};
  {
    AnswerCache cache(fixture.path(), fixture.library, 1);
    cache.update_rules(fixture.updates_for(rules));
    for (const WorkItem& each : {item, implied}) {
      REQUIRE_FALSE(cache.find(each.kind, each.text));
      cache.add(each.kind, each.text, fixture.computed(rules, each));
      CHECK(cache.find(each.kind, each.text));
    }
  }
  for (const WorkItem& each : {item, implied}) {
    CHECK(fixture.cached({associative("c1"), back("c2"), twice_transposed("c3")}, each));
    CHECK_FALSE(fixture.cached({back("c1"), goal("c2"), twice_transposed("c3")}, each));
  }
}

TEST_CASE("A derivation is not found if a reachable rule was added, removed or replaced") {
  CacheFixture fixture;
  const WorkItem item{TaskKind::Explain, goal("c9")};
  fixture.store({back("c1"), twice_transposed("c2")}, item);
  CHECK_FALSE(fixture.cached({back("c1")}, item));
  CHECK_FALSE(fixture.cached({twice_transposed("c2"), back("c1")}, item));
  CHECK_FALSE(fixture.cached({back("c1"), twice_transposed("c2"), goal("c3")}, item));
  CHECK(fixture.cached({back("c1"), twice_transposed("c2")}, item));
}

TEST_CASE("The answer for a known rule depends on the rules that may be used to derive it") {
  CacheFixture fixture;
  const std::vector<std::string> rules{back("c1"), twice_transposed("c2"), goal("c3"), associative("c4")};
  fixture.store(rules, {TaskKind::IsImplied, "2"});
  CHECK(fixture.cached(rules, {TaskKind::IsImplied, "2"}) == std::string(implied_yes));
  CHECK(fixture.cached({associative("c1"), back("c2"), twice_transposed("c3"), goal("c4")},
                       {TaskKind::IsImplied, "3"}) == std::string(implied_yes));
  CHECK_FALSE(fixture.cached({back("c1"), goal("c2")}, {TaskKind::IsImplied, "1"}));
  CHECK_FALSE(fixture.cached(rules, {TaskKind::IsImplied, "0"}));
}
