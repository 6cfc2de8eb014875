// Evaluates candidates at fresh random points of the field: does an equality still hold after a change? Most changes
// break it, so a few elements are computed first, on demand, and everything only if those agree.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "dedup/canonical.h"
#include "fingerprint/evaluator.h"

namespace rulemill::dedup {

/// Programs by instance, argument types and sizes; compiled once, shared by threads.
class TrialPrograms {
 public:
  TrialPrograms(const Vocabulary& words, const algebra::Library& library, std::uint64_t seed, std::size_t max_elements);

  struct Key {
    std::uint64_t types = 0;  // argument types and instance
    std::uint64_t sizes = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return fingerprint::mix(key.types ^ fingerprint::mix(key.sizes)); }
  };
  static Key key(const CandidateGraph& graph, const GraphNode& node);
  const fingerprint::CompiledSignature& get(const Key& key, const CandidateGraph& graph, const GraphNode& node);

  const Vocabulary& words() const { return words_; }
  const fingerprint::Executor& executor() const { return executor_; }
  std::uint64_t seed() const { return seed_; }

 private:
  const Vocabulary& words_;
  const algebra::Library& library_;
  std::uint64_t seed_;
  fingerprint::Executor executor_;
  std::vector<fingerprint::FunctionKey> functions_;
  std::mutex mutex_;
  std::unordered_map<Key, std::unique_ptr<fingerprint::CompiledSignature>, KeyHash> programs_;
};

/// One thread's own buffers.
class Trial {
 public:
  explicit Trial(TrialPrograms& programs) : programs_(programs) {}

  /// Whether all outputs agree: a few elements at one random point, then everything at eight.
  bool holds(const CandidateGraph& graph);

 private:
  struct Steps {  // of one node: values of elements known so far
    std::vector<std::vector<fingerprint::Pair>> values;
    std::vector<std::vector<std::uint32_t>> known;  // round in which the value was computed
  };

  const fingerprint::CompiledSignature& compiled(const CandidateGraph& graph, const GraphNode& node);
  const fingerprint::Pair* leaf_block(std::size_t leaf, std::uint16_t type);
  bool some_elements_agree(const CandidateGraph& graph);
  bool all_elements_agree(const CandidateGraph& graph);
  fingerprint::Pair element(const CandidateGraph& graph, GraphTerm term, std::uint32_t element);
  fingerprint::Pair operand_element(const CandidateGraph& graph, std::uint8_t node, std::uint32_t operand,
                                    std::uint32_t element);
  std::uint32_t elements(std::uint16_t type) const;

  TrialPrograms& programs_;
  std::unordered_map<TrialPrograms::Key, const fingerprint::CompiledSignature*, TrialPrograms::KeyHash> local_;
  std::array<const fingerprint::CompiledSignature*, most_graph_nodes> node_programs_{};
  std::vector<std::unordered_map<std::uint16_t, std::vector<fingerprint::Pair>>> leaves_;  // by place and type
  std::array<const fingerprint::Pair*, most_graph_leaves> leaf_values_{};
  std::array<Steps, most_graph_nodes> steps_;
  std::uint32_t round_ = 0;
  std::array<std::vector<fingerprint::Pair>, most_graph_nodes> scratch_;
};

}  // namespace rulemill::dedup
