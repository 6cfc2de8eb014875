// Equality sweeping (after SAT sweeping of circuits): goes through the second model from its inputs to its outputs, and
// merges each value with a value of the first model if both are shown to be equal. Proofs stay small, because the terms
// of a value end at values that are merged already.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "optimize/equal/matching_values.h"
#include "optimize/equal/proof/canonical_model.h"
#include "optimize/equal/proof/proof_recorder.h"
#include "optimize/equal/prover/constant_agreement.h"
#include "optimize/equal/prover/window.h"
#include "optimize/equal/prover/window_prover.h"
#include "optimize/equal/prover/window_statement.h"
#include "optimize/equal/window_split.h"

namespace rulemill::optimize {

/// Two values that are not shown to be equal, with the nodes of either model between them and common values.
struct OpenPair {
  ValuePair pair;    // canonical
  std::string name;  // of the value in the second model
  std::vector<NodeId> before, after;
};

/// How values of the second model were merged.
struct MergeCounts {
  std::uint64_t congruent = 0;                      // with the terms of the first
  std::uint64_t by_rules = 0;                       // merged by rules
  std::uint64_t unmatched = 0;                      // without an equal one
  std::map<std::string, std::uint64_t> statements;  // merged by a proof from the definitions, by its statement
  std::set<std::string> constant_terms;             // of constants over those of the other model, by their names
  std::uint64_t constants = 0;                      // compared by value, within rounding
  double constant_difference = 0;                   // the largest, in units of the bound of their errors
};

struct SweepResult : MergeCounts {
  bool outputs_equal = false;
  std::optional<ValueId> undefined;              // a value of one model alone: outputs are equal where it is defined
  std::map<std::uint32_t, std::uint64_t> rules;  // uses, by index in the rule set
  std::vector<OpenPair> open;                    // with a window that is small enough to be searched
};

/// Returns whether the subgraphs of two nodes, by their positions in the models, compute the same.
using SubgraphsEqual = std::function<bool(std::uint32_t before, std::uint32_t after)>;

class Sweep {
 public:
  Sweep(GraphBank& bank, CanonicalModel& before, CanonicalModel& after, ConstantComparison& constants,
        WindowProver& prover, StatementProver& statements, WindowSplit& splits, SubgraphsEqual subgraphs_equal,
        ProofRecorder* recorder)
      : bank_(bank),
        before_(before),
        after_(after),
        constants_(constants),
        prover_(prover),
        statements_(statements),
        splits_(splits),
        subgraphs_equal_(std::move(subgraphs_equal)),
        recorder_(recorder) {}

  /// `outputs` are pairs of original values. A value that `matches` has is compared with its matches only, others with
  /// values of their name. After `max_failures` pairs in a row that are not merged, no further pair is tried: their
  /// windows contain the earlier ones.
  SweepResult run(const std::vector<ValuePair>& outputs, const MatchingValues& matches, std::uint32_t max_failures);
  /// The pairs that are left, also of a run that was interrupted.
  const std::vector<OpenPair>& open() const { return result_.open; }

 private:
  /// Split: inner values of the window are tried first, and then the pair is tried again.
  enum class Attempt : std::uint8_t { Merged, Split, Failed };

  void add_first_model();
  void merge_by_subgraphs(NodeId id);
  bool has_equal_inputs(const ImportedModel::NodeRecord& before, const ImportedModel::NodeRecord& after) const;
  bool prove_output(const ValuePair& output);
  void find_partners(const std::vector<ValuePair>& outputs, const MatchingValues& matches);
  void add_value(ValueId original);
  bool merge_constant(ValueId original, ValueId canonical);
  void merge(ValueId original, ValueId partner);
  std::optional<EqualityWindow> provable_window(ValuePair pair, const WindowLimits& limits);
  bool prove_with_open_constants(const ValuePair& pair);
  Attempt prove(ValueId original, ValuePair pair);
  Attempt merge_proved(ValueId original, ValueId partner);
  bool prove_transposed(ValueId original, ValuePair pair);
  /// Proves one of the forms of a pair, of which each shows the others.
  bool prove_inner(ValueId original, const std::vector<ValuePair>& forms, std::uint32_t levels = 0);
  bool prove_inner(const Region& window);
  void add_dropped(const Region& window);
  std::optional<ValueId> undefined_value();
  bool prove_by_rules(const Region& window);
  void record(ValueId original, ValueId partner, bool output = false);
  bool prove_by_statement(const Region& window, StatementProver::Effort effort);
  bool split(ValueId original, const EqualityWindow& window);
  void add_open(ValueId original, ValuePair pair, const std::vector<NodeId>& nodes);

  GraphBank& bank_;
  CanonicalModel &before_, &after_;
  ConstantComparison& constants_;
  WindowProver& prover_;
  StatementProver& statements_;
  WindowSplit& splits_;
  const SubgraphsEqual subgraphs_equal_;
  ProofRecorder* recorder_;                 // of the steps, if a proof is written
  std::optional<ProvedStatement> proof_;    // of the last window; none if rules show it
  std::vector<NodeId> nodes_;               // of the second model
  std::size_t next_ = 0;                    // node to add
  std::unordered_set<NodeId> first_nodes_;  // canonical nodes of the first model
  std::vector<ValueId> first_constants_;    // canonical
  // By original value of the second model: canonical values, those from split windows also in other shapes.
  std::unordered_map<ValueId, std::vector<ValueId>> candidates_, inner_candidates_;
  std::unordered_map<ValueId, ValueId> merged_;                // by original value of the second model: canonical
  std::unordered_map<ValueId, std::string> names_;             // by original value of the second model
  std::unordered_set<ValueId> congruent_, unmatched_, split_;  // original values of the second model
  std::set<std::string> split_windows_;                        // keys of windows that have inner pairs
  std::set<std::string> failed_inner_windows_;                 // keys of those that rules do not show
  std::vector<ValueId> dropped_[2];  // values of either model that only its side of an equality depends on
  std::uint32_t max_failures_ = 0;
  std::uint32_t failures_ = 0;  // in a row
  SweepResult result_;
};

}  // namespace rulemill::optimize
