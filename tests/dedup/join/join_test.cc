#include "dedup/join/join.h"

#include <catch2/catch.hpp>
#include <set>

#include "algebra/terms/rule_text.h"
#include "dedup/candidates/candidate_set.h"
#include "dedup/candidates/canonical.h"
#include "dedup/candidates/generalize.h"
#include "enumerate/profile/profile_reader.h"
#include "fingerprint/shards.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/manifest.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"
#include "tests/shipped_operators.h"

namespace rulemill::dedup {
namespace {

constexpr const char* small = R"(
name = "small"
seed = 3
max_ops = 3
max_elements = 64
[[variables]]
names = ["x1", "x2"]
shape = [3, 4]
[[variables]]
names = ["w1", "w2"]
shape = [4, 4]
[[operators]]
operator = "add"
[[operators]]
operator = "matmul"
[[operators]]
operator = "relu"
[[operators]]
operator = "concat"
parameters = { axis = 1 }
[[operators]]
operator = "split"
parameters = { axis = 1 }
)";

struct Run {
  explicit Run(const std::filesystem::path& folder, unsigned threads = 2, bool all_terms = false,
               bool no_symmetry = false)
      : library(shipped_operators()),
        profile(enumerate::parse_profile(small, "small.toml", library)),
        out(folder),
        join_options{2, all_terms, no_symmetry, 0, 0, default_checkpoint_rows} {
    fingerprint::RunOptions options;
    options.threads = threads;
    options.all_terms = all_terms;
    options.no_symmetry = no_symmetry;
    prints = fingerprint::run(profile, library, out, runtime::Communicator::self(), options);
  }
  Summary join() { return dedup::join(profile, library, out, prints, runtime::Communicator::self(), join_options); }

  algebra::Library library;
  enumerate::Profile profile;
  std::filesystem::path out;
  JoinOptions join_options;
  fingerprint::Summary prints;
};

std::string candidates(const std::filesystem::path& out) { return runtime::read_file(out / candidates_file); }

}  // namespace

TEST_CASE("the join finds generalized candidates without duplicates") {
  const runtime::ScratchFolder folder;
  Run run(folder.path());
  const Summary summary = run.join();
  const std::string text = candidates(run.out);
  CHECK_THAT(text, Catch::Contains("relu(relu(x1))\n  => relu(x1)"));
  CHECK_THAT(text, Catch::Contains("add(matmul(x1, w1), matmul(x1, w2))\n  => matmul(x1, add(w1, w2))"));
  CHECK_THAT(text, Catch::Contains("matmul(x1, matmul(w1, w2))") || Catch::Contains("matmul(x1, matmul(w1, t1))"));
  // Two products with a common input are equal to one product and a split.
  CHECK_THAT(text, Catch::Contains("split(matmul(x1, concat(w1, w2; axis=1)); axis=1, at=4).first, split("));
  CHECK(summary.funnel.pairs >= summary.funnel.unique_up_to_renaming);
  CHECK(summary.funnel.unique_up_to_renaming >= summary.funnel.unique_up_to_shape);
  CHECK(summary.funnel.candidates > 10);
  CHECK(summary.expected_false_candidates < 1e-6);

  algebra::TermBank bank(run.library);
  algebra::Symbols symbols;
  const auto rules = algebra::parse_rules(text, candidates_file, run.library, bank, symbols);
  CHECK(rules.size() == summary.funnel.candidates);
  std::set<std::pair<std::vector<algebra::TermId>, std::vector<algebra::TermId>>> sides;
  for (const algebra::Rule& rule : rules) {
    CHECK(rule.source != rule.target);
    sides.insert({rule.source, rule.target});
  }
  CHECK(sides.size() == rules.size());
}

TEST_CASE("files do not depend on the number of threads, and a finished stage is a no-op") {
  const runtime::ScratchFolder one, two;
  Run a(one.path(), 1), b(two.path(), 3);
  a.join();
  b.join();
  const runtime::Manifest manifest(one.path());
  REQUIRE(manifest.entries().size() >= 3);
  for (const runtime::ManifestEntry& entry : manifest.entries()) {
    CHECK(runtime::read_file(one.path() / entry.name) == runtime::read_file(two.path() / entry.name));
  }
  const auto before = std::filesystem::last_write_time(one.path() / candidates_file);
  Run again(one.path());
  CHECK(again.prints.already_done);
  CHECK(again.prints.terms == a.prints.terms);
  CHECK(again.join().already_done);
  CHECK(std::filesystem::last_write_time(one.path() / candidates_file) == before);
}

TEST_CASE("a join in several partitions finds the same candidates") {
  const runtime::ScratchFolder one, partitioned;
  Run a(one.path()), b(partitioned.path());
  b.join_options.partitions = 3;
  const Summary whole = a.join(), cut = b.join();
  CHECK(candidates(one.path()) == candidates(partitioned.path()));
  CHECK(cut.funnel.pairs == whole.funnel.pairs);
  CHECK(cut.new_classes == whole.new_classes);
  CHECK(cut.expected_false_candidates == whole.expected_false_candidates);
}

TEST_CASE("a join with checkpoints finds the same candidates and counts, and removes its checkpoints") {
  const runtime::ScratchFolder one, bucketed, partitioned;
  Run a(one.path()), b(bucketed.path()), c(partitioned.path());
  b.join_options.checkpoint_rows = 100;
  c.join_options.checkpoint_rows = 100;
  c.join_options.partitions = 4;
  const Summary whole = a.join();
  for (Run* run : {&b, &c}) {
    const Summary cut = run->join();
    CHECK(candidates(one.path()) == candidates(run->out));
    CHECK(cut.funnel.classes == whole.funnel.classes);
    CHECK(cut.funnel.pairs == whole.funnel.pairs);
    CHECK(cut.funnel.unique_up_to_renaming == whole.funnel.unique_up_to_renaming);
    CHECK(cut.funnel.multi_output_pairs == whole.funnel.multi_output_pairs);
    CHECK(cut.new_classes == whole.new_classes);
    CHECK(cut.expected_false_candidates == whole.expected_false_candidates);
    CHECK_FALSE(std::filesystem::exists(run->out / "join.pieces"));
  }
}

TEST_CASE("a missing shard is recreated with the same bytes") {
  const runtime::ScratchFolder folder;
  Run run(folder.path());
  const std::filesystem::path shard = folder.path() / fingerprint::shard_name(0);
  const std::string bytes = runtime::read_file(shard);
  std::filesystem::remove(shard);
  Run again(folder.path());
  CHECK_FALSE(again.prints.already_done);
  CHECK(again.prints.terms == run.prints.terms);
  CHECK(runtime::read_file(shard) == bytes);
  for (const char* name : {"manifest.json", "manifest.copy.json"}) std::filesystem::remove(folder.path() / name);
  Run rebuilt(folder.path());
  CHECK(runtime::read_file(shard) == bytes);
}

TEST_CASE("a flipped bit in a shard, the dictionary or the candidates is detected, and the file recreated") {
  const runtime::ScratchFolder folder;
  Run(folder.path()).join();
  for (const std::string& name :
       {fingerprint::shard_name(0), std::string(fingerprint::dictionary_file), std::string(candidates_file)}) {
    INFO(name);
    const std::string bytes = runtime::read_file(folder / name);
    for (const std::size_t at : {std::size_t{3}, bytes.size() / 2, bytes.size() - 1}) {
      std::string damaged = bytes;
      damaged[at] ^= 4;
      runtime::write_file(folder / name, damaged);
      Run again(folder.path());
      const Summary joined = again.join();
      CHECK((again.prints.already_done && joined.already_done) == false);
      CHECK(runtime::read_file(folder / name) == bytes);
    }
  }
}

TEST_CASE("two unequal terms whose fingerprints collide become a candidate for the prover to refute") {
  const runtime::ScratchFolder folder;
  Run run(folder.path());
  const std::string digest = fingerprint::inputs_digest(run.profile, run.library, run.prints.max_ops, false, false);
  fingerprint::ShardRows rows = fingerprint::read_shard(folder.path() / fingerprint::shard_name(0), digest);
  const fingerprint::Dictionary dictionary = fingerprint::Dictionary::parse(
      runtime::read_file(folder.path() / fingerprint::dictionary_file), fingerprint::dictionary_file);
  // relu(x1) gets the fingerprint of x2.
  std::size_t relu = 0;
  while (rows.instance[relu] == fingerprint::no_instance || dictionary.instances[rows.instance[relu]].name != "relu")
    ++relu;
  REQUIRE(rows.arguments[relu * rows.arguments_width] == 0);
  for (std::size_t word = 0; word < 2; ++word) rows.fingerprint[2 * relu + word] = rows.fingerprint[2 * 1 + word];
  const auto written = fingerprint::write_shard(folder.path() / fingerprint::shard_name(0), rows, {{"inputs", digest}});
  runtime::Manifest manifest(folder.path());
  auto entry = *manifest.find(fingerprint::shard_name(0));
  entry.bytes = written.bytes;
  entry.checksum = written.checksum;
  manifest.add(entry);
  manifest.save();
  run.join();
  CHECK_THAT(candidates(folder.path()), Catch::Contains("relu(x1)\n  => x2"));
}

TEST_CASE("shards of another run are refused, naming both digests") {
  const runtime::ScratchFolder folder;
  Run run(folder.path());
  CHECK_THROWS_WITH(fingerprint::read_shard(folder.path() / fingerprint::shard_name(0), "0123"),
                    Catch::Contains("0123") && Catch::Contains("other inputs"));
  run.profile.seed = 4;
  CHECK_THROWS_AS(fingerprint::run(run.profile, run.library, run.out, runtime::Communicator::self(), {}),
                  runtime::InputError);
}

TEST_CASE("the canonical form does not depend on the order of sides that differ only in shapes") {
  const runtime::ScratchFolder folder;
  Run run(folder.path());
  const std::string text = runtime::read_file(folder / fingerprint::dictionary_file);
  const Vocabulary vocabulary = make_vocabulary(fingerprint::Dictionary::parse(text, "dictionary"), run.library);
  const auto concat = static_cast<std::uint16_t>(
      std::ranges::find_if(vocabulary.instances, [](const auto* i) { return i->operator_name == "concat"; }) -
      vocabulary.instances.begin());
  REQUIRE(concat < vocabulary.instances.size());
  REQUIRE(vocabulary.types[0] != vocabulary.types[1]);
  const auto candidate = [&](bool swapped) {
    CandidateGraph graph;
    graph.leaves.push_back(swapped ? 1 : 0);
    graph.leaves.push_back(swapped ? 0 : 1);
    for (const std::uint8_t first : {std::uint8_t{0}, std::uint8_t{1}}) {
      GraphNode node;
      node.instance = concat;
      node.types.push_back(0);
      node.arguments.push_back({true, 0, first});
      node.arguments.push_back({true, 0, static_cast<std::uint8_t>(1 - first)});
      graph.nodes.push_back(node);
    }
    graph.source.push_back({false, 0, 0});
    graph.target.push_back({false, 0, 1});
    canonicalize_without_key(graph, vocabulary, CanonicalForm::AnyShapes);
    return pack(graph);
  };
  CHECK(candidate(false) == candidate(true));
}

TEST_CASE("extending one term of each class finds all generalized candidates") {
  // Extending all_terms term finds no candidate that is not implied by these.
  const runtime::ScratchFolder one_per_class, all_terms;
  Run a(one_per_class.path(), 2, false), b(all_terms.path(), 2, true);
  CHECK(b.prints.levels[3].terms > a.prints.levels[3].terms);
  a.join();
  b.join();
  const auto statements = [](Run& run) {
    algebra::TermBank bank(run.library);
    algebra::Symbols symbols;
    std::set<std::string> result;
    for (const auto& rule : algebra::parse_rules(candidates(run.out), candidates_file, run.library, bank, symbols)) {
      algebra::Rule unnamed = rule;
      unnamed.id = "c";
      result.insert(algebra::to_string(unnamed, bank, symbols));
    }
    return result;
  };
  const auto found_one_per_class = statements(a), found_all_terms = statements(b);
  std::vector<std::string> lost;
  std::set_difference(found_all_terms.begin(), found_all_terms.end(), found_one_per_class.begin(),
                      found_one_per_class.end(), std::back_inserter(lost));
  for (const std::string& rule : lost) UNSCOPED_INFO(rule);
  CHECK(lost.empty());
}

}  // namespace rulemill::dedup
