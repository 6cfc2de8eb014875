// Evaluates the rows that an enumerator visits on a GPU, which generates their renamings and returns each row's minimum
// fingerprint, as OrbitEvaluator and orbit_fingerprint() do on the CPU. The next batch is filled while the GPU
// evaluates one.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "enumerate/levels/enumerator.h"
#include "execute/gpu/gpu_evaluator.h"
#include "fingerprint/orbit_evaluator.h"

namespace rulemill::fingerprint {

/// Returns the terms that the GPU stores with all their renamings.
execute::ExpandedTerms expanded_terms(const enumerate::Enumerator& enumerator, bool all_terms);

class GpuOrbitEvaluator final : public enumerate::NodeSink {
 public:
  /// Called for each output of a node. `orbit_size`: the number of nodes that the row represents.
  using Receiver = std::function<void(std::uint64_t row, enumerate::SignatureId signature,
                                      std::span<const enumerate::TermId> arguments, std::uint32_t orbit_size,
                                      const OrbitFingerprint& fingerprint)>;

  GpuOrbitEvaluator(const enumerate::Enumerator& enumerator, std::span<const execute::TypedProgram* const> programs,
                    execute::GpuEvaluator& gpu, Receiver receiver);

  /// Throws GpuError.
  void add_node(enumerate::SignatureId signature, std::span<const enumerate::TermId> arguments,
                std::uint64_t row) override;
  /// Evaluates the pending rows. Call it after the last walk.
  void finish();

  std::uint64_t products() const { return products_; }  // multiply-adds

 private:
  struct Row {
    std::uint64_t row = 0;
    enumerate::SignatureId signature = 0;
    std::array<enumerate::TermId, enumerate::max_arity> arguments{};
  };
  std::uint32_t renamings(enumerate::VariableSet variables);
  std::uint32_t renaming_list(enumerate::VariableSet variables);
  std::uint32_t restriction(enumerate::VariableSet variables, enumerate::VariableSet subset);
  bool is_transient(enumerate::TermId t) const { return t >= enumerator_.expanded_terms(); }
  execute::OrbitBatch::Growth growth(enumerate::VariableSet variables, std::span<const enumerate::TermId> arguments);
  std::uint32_t transient(enumerate::TermId t);
  void flush();
  void receive(std::size_t slot);

  const enumerate::Enumerator& enumerator_;
  std::span<const execute::TypedProgram* const> programs_;
  Receiver receiver_;
  std::unique_ptr<execute::GpuBatchQueue> queue_;
  std::array<std::vector<Row>, 2> rows_;  // by slot
  std::unordered_map<enumerate::VariableSet, const enumerate::RenamingList*> renamings_;
  // Positions in the batch that is being filled.
  std::unordered_map<enumerate::VariableSet, std::uint32_t> renaming_lists_;
  std::map<std::pair<enumerate::VariableSet, enumerate::VariableSet>, std::uint32_t> restrictions_;
  std::unordered_map<enumerate::TermId, std::uint32_t> transients_;
  std::uint64_t products_ = 0;
};

}  // namespace rulemill::fingerprint
