// The prove and prune stages for a few candidates, in this process.
#include <algorithm>
#include <catch2/catch.hpp>

#include "algebra/rules/rule_set.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/check.h"
#include "prove/prune.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/file_integrity.h"
#include "runtime/files/scratch_folder.h"
#include "tests/prove/rule_files.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

constexpr const char* candidates_file = "candidates.rules";
// c4 follows from two instances of c3.
constexpr const char* candidates = R"(rule c1(t1[2, 8])
  transpose(transpose(t1; order=view, perm=[1,0]); perm=[1,0])
  => t1

rule c2(i1[2, 4, 5, 5])
  conv2d(i1, identity_kernel(; kernel=3, c=4))
  => i1

rule c3(t1[2, 3], t2[3, 4], t3[4, 5])
  matmul(matmul(t1, t2), t3)
  => matmul(t1, matmul(t2, t3))

rule c4(t1[2, 3], t2[3, 4], t3[4, 5], t4[5, 6])
  matmul(matmul(matmul(t1, t2), t3), t4)
  => matmul(t1, matmul(t2, matmul(t3, t4)))
)";

struct StageFixture : runtime::ScratchFolder {
  algebra::Library library = shipped_operators();

  /// `steps` limits the proofs of certificates.
  PruneSummary discover(std::size_t steps = ElaborationLimits().steps) {
    prove_all(candidates, {});
    ProofStageOptions options;
    options.worker_process.worker.prover.elaboration.steps = steps;
    return prune(options);
  }

  void prove_all(const std::string& text, const ProofStageOptions& options) {
    runtime::write_file(path() / candidates_file, text);
    runtime::Manifest manifest(path());
    manifest.begin("join", "given");
    manifest.add(runtime::make_manifest_entry(candidates_file, "join", runtime::bytes_of(text)));
    manifest.finish("join", {});
    prove_candidates(path(), candidates_file, "given", library, runtime::Communicator::self(), options);
  }

  PruneSummary prune(const ProofStageOptions& options) {
    return prune_rules(path(), "given", library, {}, {}, runtime::Communicator::self(), options);
  }

  /// Returns the findings of a check of the database's certificates.
  std::vector<std::string> findings() {
    algebra::TermBank bank(library);
    algebra::Symbols symbols;
    const algebra::RuleSet rules = algebra::load_rule_set(path() / pruned_file, library, bank, symbols);
    std::vector<std::string> result;
    for (const CheckFinding& finding : prove::check(rules, library, bank, symbols, {}).findings)
      result.push_back(finding.rule + ": " + finding.what);
    return result;
  }
};

}  // namespace

TEST_CASE("prune: core and derived rules have checkable proofs") {
  StageFixture fixture;
  const PruneSummary summary = fixture.discover();
  CHECK(summary.core == 3);
  CHECK(summary.derived == 1);
  CHECK(summary.without_checkable_proof == 0);
  CHECK(fixture.findings() == std::vector<std::string>{});
}

TEST_CASE("prune: a rule without a checkable proof is dropped, and no derivation uses it") {
  StageFixture fixture;
  SECTION("one rule") {
    const PruneSummary summary = fixture.discover(1);
    CHECK(summary.without_checkable_proof == 1);
    REQUIRE(summary.dropped.size() == 1);
    CHECK(summary.dropped[0].status == RuleStatus::Unknown);
    CHECK(summary.dropped[0].detail == "proved, but without a checkable proof: the proof would be longer than 1 steps");
    CHECK(to_text(read_dropped(fixture.path())) == to_text(summary.dropped));
    CHECK(summary.core == 2);
    CHECK(summary.derived == 1);
  }
  SECTION("all rules; the derived rule is proved from the definitions and dropped, too") {
    const PruneSummary summary = fixture.discover(0);
    CHECK(summary.without_checkable_proof == 4);
    CHECK(summary.core + summary.derived == 0);
  }
  CHECK(fixture.findings() == std::vector<std::string>{});
}

TEST_CASE("prune: a large rule whose derivation hits a limit becomes an inactive core rule") {
  const std::string larger = std::string(candidates) + R"(
rule c5(t1[2, 3], t2[3, 4], t3[4, 5], t4[5, 6], t5[6, 7], t6[7, 8])
  matmul(matmul(matmul(matmul(matmul(t1, t2), t3), t4), t5), t6)
  => matmul(t1, matmul(t2, matmul(t3, matmul(t4, matmul(t5, t6)))))

rule c6(t1[2, 3], t2[3, 4], t3[4, 5], t4[5, 6], t5[6, 7], t6[7, 8])
  transpose(matmul(matmul(matmul(matmul(matmul(t1, t2), t3), t4), t5), t6); order=view, perm=[1,0])
  => transpose(matmul(t1, matmul(t2, matmul(t3, matmul(t4, matmul(t5, t6))))); order=view, perm=[1,0])
)";
  StageFixture fixture;
  ProofStageOptions narrow;
  narrow.worker_process.worker.limits.matches = 2;
  fixture.prove_all(larger, narrow);
  const auto results = read_results(fixture.path());
  const auto is_inactive = [](const CandidateResult& result) { return result.inactive; };
  CHECK(std::ranges::count_if(results, is_inactive) == 2);
  SECTION("the limit is hit again") {
    const PruneSummary summary = fixture.prune(narrow);
    CHECK(summary.inactive == 2);
    CHECK(summary.core == 5);
    CHECK(summary.derived == 1);  // c4, with extended limits
  }
  SECTION("the minimal core implies them") {
    const PruneSummary summary = fixture.prune({});
    CHECK(summary.inactive == 0);
    CHECK(summary.core == 3);
    CHECK(summary.derived == 3);
  }
  CHECK(fixture.findings() == std::vector<std::string>{});
}

TEST_CASE("prune: an inactive rule from which a rule of the same round is derived becomes active") {
  const std::string larger = std::string(candidates) + R"(
rule c5(t1[2, 3], t2[3, 4], t3[4, 5], t4[5, 6], t5[6, 7], t6[7, 8], t7[8, 9], t8[9, 3])
  matmul(matmul(matmul(matmul(matmul(matmul(matmul(t1, t2), t3), t4), t5), t6), t7), t8)
  => matmul(t1, matmul(t2, matmul(t3, matmul(t4, matmul(t5, matmul(t6, matmul(t7, t8)))))))

rule c6(t1[2, 3], t2[3, 4], t3[4, 5], t4[5, 6], t5[6, 7], t6[7, 8], t7[8, 9], t8[9, 3])
  relu(matmul(matmul(matmul(matmul(matmul(matmul(matmul(t1, t2), t3), t4), t5), t6), t7), t8))
  => relu(matmul(t1, matmul(t2, matmul(t3, matmul(t4, matmul(t5, matmul(t6, matmul(t7, t8))))))))
)";
  StageFixture fixture;
  ProofStageOptions narrow;
  narrow.worker_process.worker.limits.iterations = 2;
  narrow.worker_process.worker.limits.matches_per_rule = 1;
  fixture.prove_all(larger, narrow);
  const auto results = read_results(fixture.path());
  CHECK(results.at(4).inactive);
  CHECK(results.at(5).status == RuleStatus::Derived);
  CHECK(results.at(5).certificate.starts_with("c5: "));
  const PruneSummary summary = fixture.prune(narrow);
  CHECK(summary.inactive == 0);
  CHECK(summary.core == 4);
  CHECK(summary.derived + summary.subsumed_by_core == 2);  // c4 and c6
  CHECK(fixture.findings() == std::vector<std::string>{});
}

TEST_CASE("prune: a small rule with a long derivation is used in later rounds, and its instances are replaced") {
  constexpr int fillers = 64;  // as many as end any of the first rounds
  std::string text;
  int number = 0;
  const auto add = [&](const std::string& rest) { text += "rule c" + std::to_string(++number) + rest + "\n\n"; };
  const auto end_round = [&] {
    for (int i = 0; i < fillers; ++i) add("(t1[2, 3])\n  relu(relu(t1))\n  => relu(t1)");
  };
  add("(t1[2, 3], t2[2, 3], t3[2, 3])\n  add(add(t1, t2), t3)\n  => add(t1, add(t2, t3))");
  end_round();
  add("(t1[2, 3], t2[2, 3], t3[2, 3], t4[2, 3])\n  add(add(t1, t2), add(t3, t4))\n  => add(add(t1, t3), add(t2, t4))");
  const std::string lemma = "c" + std::to_string(number);
  end_round();
  add("(t1[2, 3], t2[2, 3], t3[2, 3], t4[2, 3])\n  relu(tanh(add(add(t1, t2), add(t3, t4))))\n"
      "  => relu(tanh(add(add(t1, t3), add(t2, t4))))");

  StageFixture fixture;
  const ProofStageOptions options;
  fixture.prove_all(text, options);
  const std::vector<CandidateResult> results = read_results(fixture.path());
  const auto of_lemma = std::ranges::find(results, lemma, &CandidateResult::candidate);
  REQUIRE(of_lemma != results.end());
  CHECK(of_lemma->status == RuleStatus::Derived);
  CHECK(of_lemma->instance_count >= 3);
  CHECK(results.back().status == RuleStatus::Derived);
  CHECK(results.back().certificate.starts_with(lemma + ":"));

  const PruneSummary summary = fixture.prune(options);
  CHECK(summary.core == 2);
  CHECK(summary.derived == 2);
  CHECK(summary.without_checkable_proof == 0);
  CHECK(fixture.findings() == std::vector<std::string>{});
}

TEST_CASE("prune: a derivation is checkable where a size is a difference of others") {
  const std::string split = R"(rule c1(t1[4, 12])
  concat(split(t1; axis=0, at=2).first, split(t1; axis=0, at=2).second; axis=0)
  => t1

rule c2(t1[18, 4], x1[2, 4], t2[16, 4])
  split(concat(t1, concat(x1, t2; axis=0); axis=0); axis=0, at=20).second
  => t2

rule c3(t1[2, 8], t2[4, 8], t3[2, 8], t4[4, 8])
  split(mul(concat(t1, t2; axis=0), concat(t3, t4; axis=0)); axis=0, at=2).second
  => mul(t2, t4)

rule c4(x1[2, 4], w1[4, 4], x2[2, 4], w2[4, 4])
  split(mul(concat(x1, w1; axis=0), concat(x2, w2; axis=0)); axis=0, at=4).second
  => mul(split(w2; axis=0, at=2).second, split(w1; axis=0, at=2).second)
)";
  StageFixture fixture;
  fixture.prove_all(split, {});
  const PruneSummary summary = fixture.prune({});
  CHECK(summary.core == 3);
  CHECK(summary.derived == 1);
  CHECK(summary.without_checkable_proof == 0);
  CHECK(summary.proved == 4);
  CHECK(fixture.findings() == std::vector<std::string>{});
}
