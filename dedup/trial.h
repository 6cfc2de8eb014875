// Evaluates candidates at fresh random points of the field: does an equality still hold after a change?
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "dedup/canonical.h"
#include "fingerprint/evaluator.h"

namespace rulemill::dedup {

/// Shared by threads: programs are compiled once.
class Trial {
 public:
  Trial(const Vocabulary& words, const algebra::Library& library, std::uint64_t seed, std::size_t max_elements);

  /// Whether all outputs agree at eight random points. The types must fit: a change must keep them.
  bool holds(const CandidateGraph& graph) const;

 private:
  using Key = std::vector<std::int64_t>;  // instance, types, sizes
  const fingerprint::CompiledSignature& compiled(const CandidateGraph& graph, const GraphNode& node) const;

  const Vocabulary& words_;
  const algebra::Library& library_;
  std::uint64_t seed_;
  fingerprint::Executor executor_;
  std::vector<fingerprint::FunctionKey> functions_;
  mutable std::mutex mutex_;
  mutable std::map<Key, std::unique_ptr<fingerprint::CompiledSignature>> programs_;
};

/// Makes the candidate as general as its equality allows, no side above max_ops nodes: subterms that both sides share become
/// variables, and a variable that stands in several places becomes several. Returns whether anything changed.
bool generalize(CandidateGraph& graph, const Trial& trial, std::size_t max_ops);

}  // namespace rulemill::dedup
