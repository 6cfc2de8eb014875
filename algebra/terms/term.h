// Terms and rules. Terms are immutable and hash-consed in a TermBank: equal structure, equal id.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "algebra/library/library.h"
#include "algebra/sizes/poly.h"

namespace rulemill::algebra {

enum class TermId : std::uint32_t {};
enum class NodeId : std::uint32_t {};

/// A variable, or one output of an operator node.
struct Term {
  bool is_variable = false;
  std::uint32_t output = 0;     // which output of the node
  NodeId node{};                // unless a variable
  std::string name;             // variables only
  std::uint32_t rank = 0;       // variables only
  std::uint32_t depth = 0;      // operators on the longest path to a variable
  std::uint64_t structure = 0;  // hash of the structure by names, equal in all banks
};

/// An operator instance applied to terms, with the values of its size parameters.
struct Node {
  InstanceId instance{};
  std::vector<TermId> arguments;
  std::vector<Poly> sizes;
};

using TermMap = std::unordered_map<TermId, TermId>;

/// Returns the node that takes the place of `old` if its arguments become `arguments`; nullopt if there is none.
using NodeRewrite = std::function<std::optional<NodeId>(NodeId old, std::span<const TermId> arguments)>;

/// The intern table of terms and nodes over one library.
class TermBank {
 public:
  explicit TermBank(const Library& library) : library_(&library) {}

  TermId variable(const std::string& name, std::uint32_t rank);
  /// Interns a node. Sorts the arguments of commutative instances independently of the bank's history: variables by
  /// name, then by structure. Checks arity and number of sizes. Throws InputError, without a position, if the depth
  /// exceeds 1,000.
  NodeId apply(InstanceId instance, std::span<const TermId> arguments, std::span<const Poly> sizes);
  TermId output(NodeId node, std::uint32_t output);

  const Term& term(TermId id) const { return terms_[static_cast<std::uint32_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<std::uint32_t>(id)]; }
  const Node& node_of(TermId id) const { return node(term(id).node); }
  const OperatorInstance& instance_of(TermId id) const { return library_->instance(node_of(id).instance); }
  std::uint32_t rank(TermId id) const;
  const Library& library() const { return *library_; }
  std::size_t term_count() const { return terms_.size(); }
  std::size_t node_count() const { return nodes_.size(); }

  /// Distinct nodes under the roots, arguments before users.
  std::vector<NodeId> nodes(std::span<const TermId> roots) const;
  /// Variables under the roots, in order of first use (depth first, left to right).
  std::vector<TermId> variables(std::span<const TermId> roots) const;
  /// Rewrites the nodes under the roots, arguments first. `images` maps the terms that are known to change, such as
  /// variables, and gets the outputs of the other nodes. nullopt as soon as `rewrite` returns it.
  std::optional<std::vector<TermId>> rebuild(std::span<const TermId> roots, TermMap& images,
                                             const NodeRewrite& rewrite);
  /// Replaces terms and sizes under the roots. Rebuilds terms that are not in the map from their arguments.
  std::vector<TermId> substitute(std::span<const TermId> roots, const TermMap& terms, const Substitution& sizes,
                                 Symbols& symbols);

  /// The state to roll back to. Rolling back removes later terms and nodes; new ones get the same ids again.
  struct Mark {
    std::size_t terms = 0, nodes = 0;
  };
  Mark mark() const { return {terms_.size(), nodes_.size()}; }
  void roll_back(const Mark& mark);

 private:
  bool precedes(TermId a, TermId b) const;

  const Library* library_;
  std::vector<Term> terms_;
  std::vector<Node> nodes_;
  std::unordered_map<std::string, TermId> variables_;
  std::unordered_map<std::size_t, std::vector<NodeId>> node_index_;
  std::unordered_map<std::uint64_t, TermId> output_index_;
};

/// A relation between sizes: left relation right.
struct SizeCondition {
  Relation relation = Relation::Eq;
  Poly left, right;
  bool operator==(const SizeCondition&) const = default;
};

/// None: not classified. A core rule is not implied by the other core rules; a derived rule is implied by core rules.
enum class Tier : std::uint8_t { None, Core, Derived };

/// source ⇒ target: same variables, pairwise equal outputs, under the condition. Before typing, `shapes` is empty and
/// sizes of nodes may be example numbers. After typing, shapes[i] is the type of variables[i] over the rule's sizes,
/// and `condition` contains every requirement that the shapes do not express.
struct Rule {
  std::string id;
  std::vector<TermId> variables;
  std::vector<Shape> shapes;
  std::vector<TermId> source, target;
  std::vector<SizeCondition> condition;
  std::vector<Atom> packs;  // sizes that stand for any number of dimensions (dimension_packs.h)
  Tier tier = Tier::None;
  bool widens = false;  // source -> target: both are defined and equal wherever the source is defined; no equation
};

/// The outputs of both sides, the source's first.
std::vector<TermId> outputs_of(const Rule& rule);

/// The nodes of both sides, arguments before users.
std::vector<NodeId> nodes_of(const Rule& rule, const TermBank& bank);

/// Rewrites the nodes of both sides (TermBank::rebuild). False if `rewrite` returns nullopt.
bool rewrite_nodes(Rule& rule, TermBank& bank, TermMap& images, const NodeRewrite& rewrite);

/// The names of the sizes in a typed rule.
std::set<std::string> used_size_names(const Rule& rule, const TermBank& bank, const Symbols& symbols);

/// Returns the size of this name, or of this name with underscores if it is among the used ones; adds it to them.
Poly unused_size(std::string name, std::set<std::string>& used_names, Symbols& symbols);

/// The variables c that occur only as positive(c) (is_positive_operator). The rule holds with any positive tensor in
/// place of positive(c).
std::vector<TermId> positive_variables(const Rule& rule, const TermBank& bank);

/// An untyped, unproved rule that the join found, with the concrete shapes on which its sides agreed.
struct Candidate {
  Rule rule;
  std::vector<std::vector<std::int64_t>> example;  // by rule.variables
};

}  // namespace rulemill::algebra
