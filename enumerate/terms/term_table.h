// Terms and nodes of all levels except the last, as arrays by 32-bit id. Variables come first, then the levels in order
// of enumeration. A node's closure (itself and all nodes that it depends on) is a sorted array of node ids. Of the
// second-to-last level, the table contains only canonical terms; see symmetry.h.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "enumerate/terms/families.h"

namespace rulemill::enumerate {

using TermId = std::uint32_t;
using NodeId = std::uint32_t;
inline constexpr std::uint32_t no_id = 0xffffffffu;

/// Throws Error if 32-bit ids are too few for these numbers of terms and nodes.
void check_id_range(std::uint64_t terms, std::uint64_t nodes);

/// The extended terms of one level and type, in id order.
struct TermGroup {
  TypeId type = 0;
  std::uint8_t level = 0;
  std::vector<TermId> members;
};

class TermTable {
 public:
  TermId add_variable(TypeId type, std::uint8_t role);
  /// `below`: the closure without the node itself. add_output() adds its terms.
  NodeId add_node(SignatureId signature, std::span<const TermId> arguments, std::span<const NodeId> below);
  /// Adds an output of the node that was added last.
  TermId add_output(std::uint8_t output, TypeId type, std::uint8_t role, std::uint32_t positions);

  std::size_t terms() const { return type_.size(); }
  std::size_t nodes() const { return signature_.size(); }

  TypeId type(TermId t) const { return type_[t]; }
  std::uint8_t level(TermId t) const { return level_[t]; }
  std::uint8_t argument_class(TermId t) const { return argument_class_[t]; }
  std::uint8_t output(TermId t) const { return output_[t]; }
  NodeId node(TermId t) const { return node_[t]; }  // no_id for variables
  /// Bit v: variable v occurs in the term.
  std::uint64_t variables(TermId t) const { return variables_[t]; }
  bool is_variable(TermId t) const { return node_[t] == no_id; }
  SignatureId signature(NodeId n) const { return signature_[n]; }
  /// A node's outputs are consecutive terms.
  TermId first_term(NodeId n) const { return first_term_[n]; }
  std::span<const TermId> arguments(NodeId n) const {
    return std::span(arguments_).subspan(first_argument_[n], first_argument_[n + 1] - first_argument_[n]);
  }
  std::span<const NodeId> closure(NodeId n) const {
    return std::span(closures_).subspan(first_closure_[n], first_closure_[n + 1] - first_closure_[n]);
  }
  std::span<const NodeId> closure_of_term(TermId t) const {
    return is_variable(t) ? std::span<const NodeId>() : closure(node_[t]);
  }

  const Positions& positions(TermId t) const { return position_sets_[positions_[t]]; }
  std::uint32_t intern_positions(const Positions& positions);

  /// Returns the first term with the same type and fingerprint.
  TermId representative(TermId t) const { return representative_[t]; }
  void set_representative(TermId t, TermId representative) { representative_[t] = representative; }

  /// Allows the term as an argument of later nodes: appends it to the group of its level and type.
  void extend(TermId t);
  bool is_extended(TermId t) const { return group_[t] != no_id; }
  std::uint32_t group(TermId t) const { return group_[t]; }
  std::uint32_t slot(TermId t) const { return slot_[t]; }  // index in its group
  const std::vector<TermGroup>& groups() const { return groups_; }
  /// Returns the group of a level and type; no_id if there is none.
  std::uint32_t find_group(std::uint8_t level, TypeId type) const;

 private:
  std::vector<TypeId> type_;
  std::vector<std::uint8_t> level_, argument_class_, output_;
  std::vector<NodeId> node_;
  std::vector<std::uint64_t> variables_;
  std::vector<std::uint32_t> positions_, group_, slot_;
  std::vector<TermId> representative_;

  std::vector<SignatureId> signature_;
  std::vector<TermId> first_term_;
  std::vector<std::uint32_t> first_argument_{0};
  std::vector<TermId> arguments_;
  std::vector<std::uint64_t> first_closure_{0};
  std::vector<NodeId> closures_;

  std::vector<Positions> position_sets_{Positions{}};
  std::map<Positions, std::uint32_t> position_ids_{{Positions{}, 0}};
  std::vector<TermGroup> groups_;
  std::map<std::pair<std::uint8_t, TypeId>, std::uint32_t> group_ids_;
};

}  // namespace rulemill::enumerate
