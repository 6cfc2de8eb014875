// Evaluates candidates at fresh random points: does an equality still hold after a change? Most changes
// break it, so a few elements are computed first, on demand, and everything only if those agree.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "dedup/canonical.h"
#include "enumerate/profile.h"
#include "execute/executor.h"

namespace rulemill::dedup {

/// Programs by instance, argument types and sizes; compiled once, shared by threads.
class TrialPrograms {
 public:
  TrialPrograms(const Vocabulary& words, const algebra::Library& library, const enumerate::Profile& profile);

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

  const Vocabulary& words() const { return words_; }
  const execute::Executor& executor() const { return executor_; }
  std::uint64_t seed() const { return ground_.seed; }

 private:
  const Vocabulary& words_;
  std::size_t max_elements_;
  execute::Ground ground_;
  execute::Executor executor_;
  std::mutex mutex_;
  std::unordered_map<Key, std::unique_ptr<execute::TypedProgram>, KeyHash> programs_;
};

/// One thread's own buffers.
class Trial {
 public:
  explicit Trial(TrialPrograms& programs) : programs_(programs) {}

  /// Whether all outputs agree: over the field a few elements at one random point; then everything, with eight values
  /// of the variables.
  bool holds(const CandidateGraph& graph);

 private:
  struct Steps {  // of one node: values of elements known so far
    std::vector<std::vector<execute::Pair>> values;
    std::vector<std::vector<std::uint32_t>> known;  // round in which the value was computed
  };

  bool over_field() const { return programs_.executor().domain() == algebra::Domain::Field; }
  const execute::TypedProgram& compiled(const CandidateGraph& graph, const GraphNode& node);
  const execute::Pair* leaf_block(std::size_t leaf, std::uint16_t type);
  bool some_elements_agree(const CandidateGraph& graph);
  bool all_elements_agree(const CandidateGraph& graph);
  execute::Pair element(const CandidateGraph& graph, GraphTerm term, std::uint32_t element);
  execute::Pair operand_element(const CandidateGraph& graph, std::uint8_t node, std::uint32_t operand,
                                std::uint32_t element);
  std::uint32_t elements(std::uint16_t type) const;  // as they are stored

  TrialPrograms& programs_;
  std::unordered_map<TrialPrograms::Key, const execute::TypedProgram*, TrialPrograms::KeyHash> local_;
  std::array<const execute::TypedProgram*, most_graph_nodes> node_programs_{};
  std::vector<std::unordered_map<std::uint16_t, std::vector<execute::Pair>>> leaves_;  // by place and type
  std::array<const execute::Pair*, most_graph_leaves> leaf_values_{};
  std::array<Steps, most_graph_nodes> steps_;
  std::uint32_t round_ = 0;
  std::array<std::vector<execute::Pair>, most_graph_nodes> scratch_;
};

}  // namespace rulemill::dedup
