// The prove and prune passes over a few candidates, in this process.
#include <algorithm>
#include <catch2/catch.hpp>

#include "algebra/rules/rule_set.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/check.h"
#include "prove/farm/prune.h"
#include "runtime/atomic_file.h"
#include "runtime/file_check.h"
#include "runtime/scratch_folder.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

constexpr const char* candidates_file = "candidates.rules";
// The last one follows from the one before it, applied twice.
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

struct Folder : runtime::ScratchFolder {
  algebra::Library library = algebra::Library::load(std::filesystem::path(RULEMILL_SOURCE_DIR) / "data" / "operators");

  PruneSummary discover(const ProverOptions& prover) {
    FarmOptions options;
    options.helper.worker.prover = prover;
    prove_all(candidates, options);
    return prune(options);
  }

  void prove_all(const std::string& text, const FarmOptions& options) {
    runtime::write_file(path() / candidates_file, text);
    runtime::Manifest manifest(path());
    manifest.begin("join", "given");
    manifest.add(runtime::entry_of(candidates_file, "join", runtime::bytes_of(text)));
    manifest.finish("join", {});
    prove_candidates(path(), candidates_file, "given", library, runtime::Communicator::self(), options);
  }

  PruneSummary prune(const FarmOptions& options) {
    return prune_rules(path(), "given", library, {}, {}, runtime::Communicator::self(), options);
  }

  /// What is wrong with the database's certificates.
  std::vector<std::string> findings() {
    algebra::TermBank bank(library);
    algebra::Symbols symbols;
    const algebra::RuleSet rules = algebra::load_rule_set(path() / rules_file, library, bank, symbols);
    std::vector<std::string> result;
    for (const CheckFinding& finding : check(rules, library, bank, symbols, {}).findings)
      result.push_back(finding.rule + ": " + finding.what);
    return result;
  }
};

}  // namespace

TEST_CASE("prune: a core of which every rule has a proof to follow, and what follows from it") {
  Folder folder;
  const PruneSummary summary = folder.discover({});
  CHECK(summary.core == 3);
  CHECK(summary.shortcut == 1);
  CHECK(summary.unfollowed == 0);
  CHECK(folder.findings() == std::vector<std::string>{});
}

TEST_CASE("prune: a rule proved by no steps that can be followed is left out, and nothing rests on it") {
  Folder folder;
  ProverOptions prover;
  SECTION("one") {
    prover.elaboration.steps = 1;
    const PruneSummary summary = folder.discover(prover);
    CHECK(summary.unfollowed == 1);
    CHECK(summary.core == 2);
    CHECK(summary.shortcut == 1);
  }
  SECTION("all: what was derived is proved by itself, and left out, too") {
    prover.elaboration.steps = 0;
    const PruneSummary summary = folder.discover(prover);
    CHECK(summary.unfollowed == 4);
    CHECK(summary.core + summary.shortcut == 0);
  }
  CHECK(folder.findings() == std::vector<std::string>{});
}

TEST_CASE("prune: a large rule for which a limit is met is core, and no derivation uses it") {
  const std::string larger = std::string(candidates) + R"(
rule c5(t1[2, 3], t2[3, 4], t3[4, 5], t4[5, 6], t5[6, 7], t6[7, 8])
  matmul(matmul(matmul(matmul(matmul(t1, t2), t3), t4), t5), t6)
  => matmul(t1, matmul(t2, matmul(t3, matmul(t4, matmul(t5, t6)))))

rule c6(t1[2, 3], t2[3, 4], t3[4, 5], t4[5, 6], t5[6, 7], t6[7, 8])
  transpose(matmul(matmul(matmul(matmul(matmul(t1, t2), t3), t4), t5), t6); order=view, perm=[1,0])
  => transpose(matmul(t1, matmul(t2, matmul(t3, matmul(t4, matmul(t5, t6))))); order=view, perm=[1,0])
)";
  Folder folder;
  FarmOptions narrow;
  narrow.helper.worker.limits.matches = 2;
  folder.prove_all(larger, narrow);
  const auto outcomes = read_outcomes(folder.path());
  const auto is_apart = [](const Outcome& outcome) { return outcome.apart; };
  CHECK(std::ranges::count_if(outcomes, is_apart) == 2);
  SECTION("the limit is met again") {
    const PruneSummary summary = folder.prune(narrow);
    CHECK(summary.apart == 2);
    CHECK(summary.core == 5);
    CHECK(summary.shortcut == 1);  // c4, tried harder
  }
  SECTION("a minimal core reaches further") {
    const PruneSummary summary = folder.prune({});
    CHECK(summary.apart == 0);
    CHECK(summary.core == 3);
    CHECK(summary.shortcut == 3);
  }
  CHECK(folder.findings() == std::vector<std::string>{});
}

TEST_CASE(
    "prune: a rule that follows from one of its round that stays apart is derived from that, which is in use then") {
  const std::string larger = std::string(candidates) + R"(
rule c5(t1[2, 3], t2[3, 4], t3[4, 5], t4[5, 6], t5[6, 7], t6[7, 8], t7[8, 9], t8[9, 3])
  matmul(matmul(matmul(matmul(matmul(matmul(matmul(t1, t2), t3), t4), t5), t6), t7), t8)
  => matmul(t1, matmul(t2, matmul(t3, matmul(t4, matmul(t5, matmul(t6, matmul(t7, t8)))))))

rule c6(t1[2, 3], t2[3, 4], t3[4, 5], t4[5, 6], t5[6, 7], t6[7, 8], t7[8, 9], t8[9, 3])
  relu(matmul(matmul(matmul(matmul(matmul(matmul(matmul(t1, t2), t3), t4), t5), t6), t7), t8))
  => relu(matmul(t1, matmul(t2, matmul(t3, matmul(t4, matmul(t5, matmul(t6, matmul(t7, t8))))))))
)";
  Folder folder;
  FarmOptions narrow;
  narrow.helper.worker.limits.iterations = 2;
  narrow.helper.worker.limits.matches_each = 1;
  folder.prove_all(larger, narrow);
  const auto outcomes = read_outcomes(folder.path());
  CHECK(outcomes.at(4).apart);
  CHECK(outcomes.at(5).kind == Outcome::Kind::Derived);
  CHECK(outcomes.at(5).certificate.starts_with("c5: "));
  const PruneSummary summary = folder.prune(narrow);
  CHECK(summary.apart == 0);
  CHECK(summary.core == 4);
  CHECK(summary.shortcut + summary.instances_of_core == 2);  // c4 and c6
  CHECK(folder.findings() == std::vector<std::string>{});
}

TEST_CASE("prune: a derived rule whose derivation the checker cannot follow is left out, and counted") {
  // The last one's target is defined where a position that is a difference of sizes is positive, which the checker does
  // not know.
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
  Folder folder;
  folder.prove_all(split, {});
  const PruneSummary summary = folder.prune({});
  CHECK(summary.core == 3);
  CHECK(summary.shortcut == 0);
  CHECK(summary.unfollowed == 1);
  CHECK(summary.proved == 3);
  CHECK(folder.findings() == std::vector<std::string>{});
}
