// Follows a proof that two models are equal: builds the instances of its rules in both models. It searches for nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "optimize/equal/proof/congruence.h"
#include "optimize/equal/proof/model_term.h"
#include "optimize/equal/prover/constant_agreement.h"
#include "optimize/equal/prover/window.h"

namespace rulemill::optimize {

class ProofFollower {
 public:
  /// `rules` are over `terms` and the bank's symbols. They are believed: their certificates are checked elsewhere.
  /// `unmerged`: the second model once more.
  ProofFollower(GraphBank& bank, CanonicalModel& before, CanonicalModel& after, CanonicalModel& unmerged,
                ConstantComparison& constants, const algebra::RuleSet& rules, const algebra::TermBank& terms)
      : bank_(bank),
        before_(before),
        after_(after),
        unmerged_(unmerged),
        constants_(constants),
        congruence_(bank),
        rules_(rules),
        terms_(terms) {}

  /// Throws InputError of `file`, with the step, unless the steps show that each pair of original values is equal.
  void follow(const proto::ModelProof& proof, const std::vector<ValuePair>& outputs, const std::string& file);
  /// The constants that were compared by their elements.
  std::uint64_t constants() const { return compared_; }
  /// Whether the second model may be defined for more inputs than the first one.
  bool widens() const { return widens_; }

 private:
  /// The outputs of both sides of a rule's instance.
  struct Sides {
    std::vector<ValueId> source, target;
  };

  void add_lemmas(const proto::ModelProof& proof, const ModelTerms& names, const std::string& file);
  bool add_constant(const proto::ModelStep& lemma, const ModelTerms& names);
  bool add_instance(const proto::ModelStep& lemma, const ModelTerms& names);
  bool has_equal_constants() const;
  bool holds(const proto::ModelStep& step, ValueId partner, ValueId original, const ModelTerms& names);
  bool is_held(ValueId constant) const { return held_[0].contains(constant) || held_[1].contains(constant); }
  bool agree_alone(ValueId a, ValueId b, bool is_read_as_computed = false);
  bool are_constants_that_agree(ValueId partner, ValueId unmerged);
  ValueId constant_in_place_of(ValueId computed, const std::vector<ValueId>& constants);
  /// Null if there is none, or if it only widens and is no equation.
  const algebra::Rule* rule_of(const proto::ModelStep& step) const;
  std::optional<Sides> instance_of(const algebra::Rule& rule, const proto::ModelStep& step, DataType type,
                                   const ModelTerms& names);
  void add_dropped(ValueId variable);
  bool has_type(ValueId value, const algebra::Shape& shape, DataType type);

  GraphBank& bank_;
  CanonicalModel &before_, &after_, &unmerged_;
  ConstantComparison& constants_;
  Congruence congruence_;  // of what lemmas show
  const algebra::RuleSet& rules_;
  const algebra::TermBank& terms_;
  std::set<ValueId> stored_[2];                 // canonical constants that either model stores
  std::unordered_set<ValueId> held_[2];         // canonical values of either model
  std::unordered_set<ValueId> second_;          // those of the second one, also before it is merged
  std::unordered_map<ValueId, ValueId> equal_;  // terms of the second model that were merged, by canonical value
  bool widens_ = false;
  std::uint64_t compared_ = 0;
  std::unordered_map<std::string, std::string> agreeing_;  // by content of a constant: that of the one it agrees with
  std::unordered_set<ValueId> real_;                       // constants that operators without undefined values compute
};

/// Adds a model's nodes to its canonical terms. Returns those of its stored constants.
std::set<ValueId> add_stored_constants(const GraphBank& bank, CanonicalModel& model);

/// Read and write the file of a proof. Throw IoError, and InputError for what is no proof.
proto::ModelProof read_model_proof(const std::filesystem::path& path);
void write_model_proof(proto::ModelProof proof, const std::filesystem::path& path);

}  // namespace rulemill::optimize
