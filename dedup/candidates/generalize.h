// Generalizes a candidate, as long as the result passes an equality test.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "dedup/candidates/canonical.h"
#include "dedup/candidates/generalization_cache.h"
#include "enumerate/profile/profile.h"
#include "execute/cpu/executor.h"

namespace rulemill::dedup {

/// Programs by instance, argument types and sizes; compiled once. Thread-safe.
class ProgramCache {
 public:
  ProgramCache(const Vocabulary& vocabulary, const algebra::Library& library, const enumerate::Profile& profile);

  struct Key {
    std::uint64_t types = 0;  // argument types and instance
    std::uint64_t sizes = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return execute::mix(key.types ^ execute::mix(key.sizes)); }
  };
  static Key key(const CandidateGraph& graph, const GraphNode& node);
  const execute::TypedProgram& get(const Key& key, const CandidateGraph& graph, const GraphNode& node);

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const execute::Executor& executor() const { return executor_; }
  std::uint64_t seed() const { return context_.seed; }

 private:
  const Vocabulary& vocabulary_;
  std::size_t max_elements_;
  execute::EvaluationContext context_;
  execute::Executor executor_;
  std::mutex mutex_;
  std::unordered_map<Key, std::unique_ptr<execute::TypedProgram>, KeyHash> programs_;
};

/// Tests at new random inputs whether a changed candidate still holds; has the buffers of one thread. Most changes
/// break a candidate, so that a few elements are computed first; all elements are computed only if those agree.
class EqualityTest {
 public:
  EqualityTest(ProgramCache& programs, const GeneralizationCache& cache) : programs_(programs), cache_(cache) {}

  /// Whether source and target agree. Over the field, a few elements are compared at one random input. Then all
  /// elements are compared at block_width inputs, unless the candidate is a step in the cache: it has passed before.
  bool passes(const CandidateGraph& graph);

 private:
  /// Elements of a node that were computed so far, by program step.
  struct NodeValues {
    std::vector<std::vector<execute::FieldPair>> values;
    std::vector<std::vector<std::uint32_t>> computed;  // the round in which the value was computed
  };

  bool over_field() const { return programs_.executor().domain() == algebra::Domain::Field; }
  const execute::TypedProgram& program_of(const CandidateGraph& graph, const GraphNode& node);
  const execute::FieldPair* values_of_leaf(std::size_t leaf, std::uint16_t type);
  bool some_elements_agree(const CandidateGraph& graph);
  bool all_elements_agree(const CandidateGraph& graph);
  execute::FieldPair element(const CandidateGraph& graph, GraphTerm term, std::uint32_t element);
  execute::FieldPair operand_element(const CandidateGraph& graph, std::uint8_t node, std::uint32_t operand,
                                     std::uint32_t element);
  /// Returns the number of stored elements of a tensor.
  std::uint32_t elements(std::uint16_t type) const;

  ProgramCache& programs_;
  const GeneralizationCache& cache_;
  std::unordered_map<ProgramCache::Key, const execute::TypedProgram*, ProgramCache::KeyHash> local_programs_;
  std::array<const execute::TypedProgram*, max_graph_nodes> node_programs_{};
  std::vector<std::unordered_map<std::uint16_t, std::vector<execute::FieldPair>>> leaf_blocks_;  // by leaf and type
  std::array<const execute::FieldPair*, max_graph_leaves> leaf_values_{};
  std::array<NodeValues, max_graph_nodes> node_values_;
  std::uint32_t round_ = 0;
  std::array<std::vector<execute::FieldPair>, max_graph_nodes> scratch_;
};

/// Replaces a subterm by a variable or splits a variable with several uses, if the candidate then passes the test and
/// no side has more than max_ops nodes. Returns false if that is impossible.
bool generalize_once(CandidateGraph& graph, EqualityTest& test, std::size_t max_ops);

}  // namespace rulemill::dedup
