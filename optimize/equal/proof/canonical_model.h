// The canonical terms of a model: constants by content, opaque nodes by function, dimensions by the inputs that
// determine them. Models in one bank that compute a value in the same way have the same canonical term for it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "optimize/onnx/identity/model_identity.h"
#include "optimize/onnx/import.h"

namespace rulemill::optimize {

/// Canonical constants by content, shared by the models that are compared.
class ConstantTable {
 public:
  explicit ConstantTable(GraphBank& bank) : bank_(&bank) {}

  /// Returns the canonical constant. `onnx_type` is the element type, because the bank has one type for all integers.
  /// `key`: of the content as it is stored; empty for a number in an attribute.
  ValueId constant(ValueId original, int onnx_type, const std::string& key);
  /// Returns the canonical value of a constant that the bank cannot represent.
  ValueId opaque(const std::string& key, const ValueType& type);
  /// Returns the name of the first constant of a model that has this canonical one; empty if there is none.
  std::string name(ValueId canonical) const;

 private:
  GraphBank* bank_;
  std::unordered_map<std::string, ValueId> by_key_;
  std::unordered_map<ValueId, std::string> names_;
};

/// Begins the names of dimensions that no input of the first, or second, model determines.
inline constexpr const char *first_model_prefix = "before ", *second_model_prefix = "after ";

/// A model with its canonical terms, added node by node, arguments first.
class CanonicalModel {
 public:
  /// Dimensions that no input determines get names that begin with `prefix`, unless a merged opaque node has them.
  CanonicalModel(GraphBank& bank, ConstantTable& constants, const ImportedModel& import, const ModelIdentity& identity,
                 std::string prefix);

  /// Adds canonical terms for the node's outputs. Terms of a node that is added again replace its earlier ones.
  void add(NodeId original);
  ValueId value(ValueId original) const { return canonical_.at(original); }
  bool has(ValueId original) const { return canonical_.contains(original); }
  /// Replaces the canonical term, for nodes that are added later.
  void set_value(ValueId original, ValueId canonical) { canonical_[original] = canonical; }
  const ImportedModel& import() const { return *import_; }
  const ModelIdentity& identity() const { return *identity_; }

 private:
  ValueId input(ValueId original);
  ValueId constant(ValueId original);
  void add_algebra(NodeId original, const std::vector<ValueId>& arguments);
  void add_opaque(NodeId original, const std::vector<ValueId>& arguments);
  algebra::Poly translate(const algebra::Poly& size);
  void match_sizes(const ValueType& own, const ValueType& canonical);
  void define(const std::vector<ValueId>& originals, const std::vector<ValueId>& canonical);

  GraphBank* bank_;
  ConstantTable* constants_;
  const ImportedModel* import_;
  const ModelIdentity* identity_;
  std::string prefix_;
  std::unordered_map<ValueId, ValueId> canonical_;
  std::unordered_map<ValueId, std::string> names_;  // of initializers and constants in this model
  algebra::Substitution sizes_;                     // of the model's own dimensions
  std::vector<algebra::Atom> new_sizes_;            // first seen in the node that is added
  std::unordered_map<NodeId, std::vector<algebra::Atom>> first_seen_;
};

}  // namespace rulemill::optimize
