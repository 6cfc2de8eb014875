// Values of two models by the names that the models have for them: what a proof stores in place of ids.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algebra/terms/term.h"
#include "model_proof.pb.h"
#include "optimize/equal/proof/canonical_model.h"

namespace rulemill::optimize {

using NameOf = std::function<std::optional<proto::ModelName>(ValueId)>;

/// Short names of open dimensions: d0, d1, ….
class DimensionNames {
 public:
  explicit DimensionNames(algebra::Symbols& symbols, const std::vector<std::string>& names = {});

  /// Returns the size with short names; dimensions without one get one.
  algebra::Poly shorten(const algebra::Poly& size);
  const algebra::Symbols& symbols() const { return symbols_; }
  /// By short name: the dimension.
  const algebra::Substitution& dimensions() const { return dimensions_of_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  void add(algebra::Atom dimension);

  algebra::Symbols& symbols_;
  std::vector<std::string> names_;
  algebra::Substitution short_names_, dimensions_of_;
};

/// The values of a model by name, sorted, and the numbers in attributes, which have none, by node.
std::vector<std::pair<std::string, ValueId>> names_of_values(const ImportedModel& import);
proto::ModelName name_in(const std::string& name, bool after);

/// Returns a term for a value, down to values that have names; nullopt if an unnamed node has none.
std::optional<proto::ModelTerm> write_term(const GraphBank& bank, ValueId value, const NameOf& name_of,
                                           DimensionNames& dimensions);

/// Adds what a variable, and the sizes, of a step's rule stand for.
void add_variable(proto::ModelStep& step, const std::string& name, proto::ModelTerm value);
void add_sizes(proto::ModelStep& step, const algebra::Substitution& sizes, DimensionNames& dimensions);

/// Names the values of a bank, and finds them again.
class ModelTerms {
 public:
  /// `dimensions`: names of open dimensions in the terms that are read.
  ModelTerms(GraphBank& bank, const CanonicalModel& before, const CanonicalModel& after,
             const std::vector<std::string>& dimensions = {});

  /// Returns a term for a value of the second model, over its own names; nullopt if an unnamed node has none.
  std::optional<proto::ModelTerm> own(ValueId original);
  /// Returns a term for a canonical value, over the names that both models have for canonical values now.
  std::optional<proto::ModelTerm> canonical(ValueId value);
  void add_sizes(proto::ModelStep& step, const algebra::Substitution& sizes) {
    optimize::add_sizes(step, sizes, dimensions_);
  }
  /// The names of open dimensions in the terms that were returned.
  const std::vector<std::string>& dimensions() const { return dimensions_.names(); }

  /// Return the value; nullopt if a name or the text has none. They may add nodes to the bank.
  std::optional<ValueId> find_own(const proto::ModelTerm& term) const;
  /// `type`: of an operator without inputs.
  std::optional<ValueId> find_canonical(const proto::ModelTerm& term, DataType type = DataType::Float32) const;
  algebra::Poly size(const std::string& text) const;

 private:
  using ValueOf = std::function<std::optional<ValueId>(const proto::ModelName&)>;

  std::optional<ValueId> find(const proto::ModelTerm& term, const ValueOf& value_of, DataType type) const;
  std::optional<proto::ModelName> canonical_name(ValueId value) const;

  GraphBank& bank_;
  const CanonicalModel &before_, &after_;
  std::vector<std::pair<std::string, ValueId>> before_names_, after_names_;  // sorted
  DimensionNames dimensions_;  // in the terms that were returned, or that are read
};

/// Builds terms of a rule, or of a text, in a bank.
class TermBuilder {
 public:
  /// Called with each value that is built, and, of a constant, with its term in which nothing took another's place.
  /// Returns what takes its place, nullopt to give up.
  using Use = std::function<std::optional<ValueId>(ValueId built, ValueId whole)>;

  TermBuilder(GraphBank& bank, const algebra::TermBank& terms, algebra::Substitution sizes, DataType type, Use use)
      : bank_(bank), terms_(terms), sizes_(std::move(sizes)), type_(type), use_(std::move(use)) {}

  void set(algebra::TermId variable, ValueId value) { values_[variable] = value; }
  /// Returns nullopt if a node is ill-typed, has a symbolic parameter, or if `use` gives up. The positivity operator is
  /// its argument, which must be positive.
  std::optional<ValueId> build(algebra::TermId term);

 private:
  std::optional<ValueId> build_node(algebra::TermId term);

  GraphBank& bank_;
  const algebra::TermBank& terms_;
  const algebra::Substitution sizes_;
  const DataType type_;
  const Use use_;
  std::unordered_map<algebra::TermId, ValueId> values_, whole_;
};

}  // namespace rulemill::optimize
