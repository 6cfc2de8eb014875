// What answers of derivations depend on, and under which names they come back.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "prove/farm/answer_store.h"
#include "prove/farm/worker.h"
#include "runtime/scratch_folder.h"

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
// Its left side is in reach of products alone, its right side then brings transpositions.
std::string product(const std::string& name) {
  return "rule " + name +
         "(t1[m, k], t2[k, n])\n  matmul(t1, t2)\n  => transpose(matmul(transpose(t2; perm=[1,0]), transpose(t1; "
         "perm=[1,0])); perm=[1,0])\n";
}
std::string goal(const std::string& name) {
  return "rule " + name + "(t1[m, k])\n  transpose(transpose(t1; order=view, perm=[1,0]); perm=[1,0])\n  => t1\n";
}

struct Bench : runtime::ScratchFolder {
  algebra::Library library = algebra::Library::load(std::filesystem::path(RULEMILL_SOURCE_DIR) / "data" / "operators");

  std::vector<std::string> added(const std::vector<std::string>& rules) {
    std::vector<std::string> changes;
    for (const std::string& rule : rules) changes.push_back(adding(rule));
    return changes;
  }
  /// The rules in reach of a goal.
  std::vector<std::uint32_t> reached(const std::vector<std::string>& rules, const std::string& of) {
    Reach reach(library);
    for (const std::string& change : added(rules)) reach.change(change);
    return reach.rules_for(reach.instances_of(of), 0, 0);
  }
  std::string asked(const std::vector<std::string>& rules, const Task& task) {
    Worker worker(library, {});
    for (const std::string& change : added(rules)) worker.change(change);
    return worker.answer(task).items.at(0);
  }
  std::optional<std::string> kept(const std::vector<std::string>& rules, const Task& task) {
    AnswerStore store(path(), library, 1);
    store.change(added(rules));
    return store.find(task).at(0);
  }
  void keep(const std::vector<std::string>& rules, const Task& task) {
    AnswerStore store(path(), library, 1);
    store.change(added(rules));
    store.add(task, {asked(rules, task)});
  }
};

std::string without_seconds(const std::string& text) {
  Outcome outcome = unpack_outcome(text);
  outcome.seconds = 0;
  return pack(outcome);
}

}  // namespace

TEST_CASE("Rules are in reach of a goal by what it has and what rules in reach build") {
  Bench bench;
  using Rules = std::vector<std::uint32_t>;
  CHECK(bench.reached({associative("c1"), back("c2"), twice_transposed("c3")}, goal("c9")) == Rules{1, 2});
  CHECK(bench.reached({associative("c1"), back("c2")}, associative("c9")) == Rules{0});
  CHECK(bench.reached({back("c1"), product("c2")}, associative("c9")) == Rules{0, 1});
  CHECK(bench.reached({product("c1"), back("c2")}, goal("c9")) == Rules{1});
}

TEST_CASE("A derivation is kept whatever rules out of reach come and go, under the names of the run that asks") {
  Bench bench;
  const std::vector<std::string> before{back("c1"), twice_transposed("c2")};
  const std::vector<std::string> after{back("c1"), associative("c2"), twice_transposed("c7")};
  const Task task{TaskKind::Explain, {goal("c9")}, 1}, renamed{TaskKind::Explain, {goal("c12")}, 1};
  bench.keep(before, task);
  const auto found = bench.kept(after, renamed);
  REQUIRE(found);
  CHECK(without_seconds(*found) == without_seconds(bench.asked(after, renamed)));
  CHECK(unpack_outcome(*found).certificate.find("c7:") != std::string::npos);
  CHECK(unpack_outcome(*found).certificate.find("c2:") == std::string::npos);
}

TEST_CASE("A candidate that was derived is derived again without asking where its sides are defined") {
  Bench bench;
  const std::string item =
      "rule c9(t1[2, 8])\n  sqrt(transpose(transpose(t1; perm=[1,0]); perm=[1,0]))\n  => sqrt(t1)\n";
  const std::string other = "rule c9(t1[2, 8])\n  transpose(t1; perm=[1,0])\n  => t1\n";
  const Task task{TaskKind::Derive, {item}, 1}, underived{TaskKind::Derive, {other}, 1};
  bench.keep({back("c1")}, task);
  bench.keep({back("c1")}, underived);
  const std::vector<std::string> rules{twice_transposed("c1"), back("c2")};
  AnswerStore store(bench.path(), bench.library, 1);
  store.change(bench.added(rules));
  REQUIRE_FALSE(store.find(task).at(0));
  REQUIRE_FALSE(store.find(underived).at(0));
  const std::string asked = store.asked(TaskKind::Derive, item);
  CHECK(asked == std::string(defined_alike) + item);
  CHECK(store.asked(TaskKind::Derive, other) == other);
  const std::string answer = bench.asked(rules, {TaskKind::Derive, {asked}, 1});
  CHECK(without_seconds(answer) == without_seconds(bench.asked(rules, task)));
  store.add({TaskKind::Derive, {asked}, 1}, {answer});
  CHECK(store.find(task).at(0) == answer);
}

TEST_CASE("A derivation is asked again where a rule in reach is new, gone, or another one") {
  Bench bench;
  const Task task{TaskKind::Explain, {goal("c9")}, 1};
  bench.keep({back("c1"), twice_transposed("c2")}, task);
  CHECK_FALSE(bench.kept({back("c1")}, task));
  CHECK_FALSE(bench.kept({twice_transposed("c2"), back("c1")}, task));
  CHECK_FALSE(bench.kept({back("c1"), twice_transposed("c2"), goal("c3")}, task));
  CHECK(bench.kept({back("c1"), twice_transposed("c2")}, task));
}

TEST_CASE("Whether a numbered rule is implied depends on the rules that may be used for it") {
  Bench bench;
  const std::vector<std::string> rules{back("c1"), twice_transposed("c2"), goal("c3"), associative("c4")};
  bench.keep(rules, {TaskKind::Redundant, {"2"}, 1});
  CHECK(bench.kept(rules, {TaskKind::Redundant, {"2"}, 1}) == std::string(implied_yes));
  CHECK(bench.kept({associative("c1"), back("c2"), twice_transposed("c3"), goal("c4")},
                   {TaskKind::Redundant, {"3"}, 1}) == std::string(implied_yes));
  CHECK_FALSE(bench.kept({back("c1"), goal("c2")}, {TaskKind::Redundant, {"1"}, 1}));
  CHECK_FALSE(bench.kept(rules, {TaskKind::Redundant, {"0"}, 1}));
}

TEST_CASE("Of rules that are eliminated one after the other all answers are kept, or none") {
  Bench bench;
  const std::vector<std::string> rules{back("c1"), twice_transposed("c2"), goal("c3")};
  const Task both{TaskKind::Eliminate, {"2", "0"}, 1};
  AnswerStore store(bench.path(), bench.library, 1);
  store.change(bench.added(rules));
  Worker worker(bench.library, {});
  for (const std::string& change : bench.added(rules)) worker.change(change);
  const std::vector<std::string> answers = worker.answer(both).items;
  CHECK(store.find(both) == std::vector<std::optional<std::string>>(2));
  store.add(both, answers);
  CHECK(store.find(both) == std::vector<std::optional<std::string>>(answers.begin(), answers.end()));
  // Asked alone, rule 0 has rule 2 to follow from: another question.
  CHECK_FALSE(store.find({TaskKind::Eliminate, {"0"}, 1}).at(0));
}
