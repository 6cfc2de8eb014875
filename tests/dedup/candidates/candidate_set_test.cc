// Candidates with size parameters are equal if their texts with symbolic sizes are.
#include "dedup/candidates/candidate_set.h"

#include <catch2/catch.hpp>

#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::dedup;

namespace {

enum Instance : std::uint16_t { Concat, Split, Relu };

/// Instances on vectors, and the types of vectors of up to nine elements, by size.
struct Vectors {
  algebra::Library library = shipped_operators();
  Vocabulary vocabulary;

  Vectors() {
    fingerprint::Dictionary dictionary;
    const algebra::Parameters axis{{"axis", std::int64_t{0}}};
    dictionary.instances = {{"concat", axis, {1, 1}}, {"split", axis, {1}}, {"relu", {}, {1}}};
    for (std::int64_t size = 0; size < 10; ++size) dictionary.types.push_back({size});
    vocabulary = make_vocabulary(dictionary, library);
  }
};

GraphTerm add_node(CandidateGraph& graph, Instance instance, std::initializer_list<GraphTerm> arguments,
                   std::initializer_list<std::uint16_t> types, std::uint8_t output = 0, std::int64_t size = 0) {
  GraphNode node;
  node.instance = instance;
  for (const GraphTerm argument : arguments) node.arguments.push_back(argument);
  for (const std::uint16_t type : types) node.types.push_back(type);
  if (size != 0) node.sizes.push_back(size);
  graph.nodes.push_back(node);
  return {false, output, static_cast<std::uint8_t>(graph.nodes.size() - 1)};
}

/// relu(t) => t, where t is the first part of a split after the second part of another, of a concat of a and b
/// elements.
CandidateGraph split_twice(std::uint16_t a, std::uint16_t b, std::uint16_t first, std::uint16_t second) {
  CandidateGraph graph;
  graph.leaves.push_back(a);
  graph.leaves.push_back(b);
  const auto whole = static_cast<std::uint16_t>(a + b), rest = static_cast<std::uint16_t>(whole - first),
             last = static_cast<std::uint16_t>(rest - second);
  const GraphTerm concat = add_node(graph, Concat, {{true, 0, 0}, {true, 0, 1}}, {whole});
  const GraphTerm part = add_node(graph, Split, {concat}, {first, rest}, 1, first);
  const GraphTerm inner = add_node(graph, Split, {part}, {second, last}, 0, second);
  graph.source.push_back(add_node(graph, Relu, {inner}, {second}));
  graph.target.push_back(inner);
  return graph;
}

std::size_t count_distinct(const Vectors& vectors, const std::vector<CandidateGraph>& graphs) {
  const auto self = runtime::Communicator::self();
  const runtime::ThreadPool one_thread(1);
  KeyedCandidates candidates = deduplicate(
      graphs.size(), [&](std::size_t i) { return graphs[i]; }, vectors.vocabulary, one_thread);
  return deduplicate_across_ranks(std::move(candidates), vectors.vocabulary, one_thread, self).size();
}

}  // namespace

TEST_CASE("candidates that differ in sizes are one candidate unless a split is at another boundary") {
  const Vectors vectors;
  const CandidateGraph elsewhere = split_twice(3, 4, 2, 2), larger = split_twice(3, 5, 2, 3),
                       at_first = split_twice(3, 4, 3, 2), at_second = split_twice(3, 4, 1, 2);
  CHECK(size_comparisons(elsewhere, vectors.vocabulary) == size_comparisons(larger, vectors.vocabulary));
  CHECK(symbolic_text(elsewhere, vectors.vocabulary) == symbolic_text(larger, vectors.vocabulary));
  CHECK(count_distinct(vectors, {elsewhere, larger}) == 1);
  CHECK(count_distinct(vectors, {elsewhere, at_first}) == 2);
  CHECK(count_distinct(vectors, {elsewhere, at_second}) == 2);
  CHECK(count_distinct(vectors, {at_first, larger, at_second}) == 3);
}

TEST_CASE("candidates with equal texts are one candidate even if their sizes compare differently") {
  const Vectors vectors;
  const CandidateGraph before = split_twice(3, 4, 2, 2), behind = split_twice(2, 5, 4, 2);
  CHECK(size_comparisons(before, vectors.vocabulary) != size_comparisons(behind, vectors.vocabulary));
  CHECK(symbolic_text(before, vectors.vocabulary) == symbolic_text(behind, vectors.vocabulary));
  CHECK(count_distinct(vectors, {before, behind}) == 1);
}
