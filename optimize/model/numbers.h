// Constants of a model that rules name: elements that an operator without inputs computes, such as one half.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "optimize/model/graph.h"

namespace rulemill::optimize {

/// Returns the instances without inputs and with one output in the rules.
std::set<algebra::InstanceId> instances_without_inputs(const algebra::Library& library, const algebra::TermBank& terms,
                                                       const std::vector<algebra::RuleRecord>& rules);

/// Returns true for an operator without inputs: the name of a constant.
bool is_named_constant(const Node& node);
/// Returns true for an operator without inputs and sizes: the name of a number.
inline bool is_number(const Node& node) { return is_named_constant(node) && node.sizes.empty(); }

/// Returns the node of an instance without inputs that has the type; nullopt if its sizes are not among the dimensions.
std::optional<NodeId> named_constant(GraphBank& bank, algebra::InstanceId instance, const ValueType& type);

/// Returns the value of the number with this operator; nullopt if the operator does not exist or is none.
std::optional<double> value_of_number(GraphBank& bank, const std::string& operator_name);
/// Returns true if the value is a scalar constant that is the number, rounded to the constant's type.
bool is_constant_of(const GraphBank& bank, ValueId id, double number);

struct NamedConstants {
  std::vector<ValueId> outputs;
  std::unordered_map<ValueId, ValueId> origins;  // by new value: the earlier one, of constants and of what uses them
};

/// Replaces each constant by the operator of the rules, or, for numbers, else of these names,
/// whose elements, rounded to the constant's type, are the same. Export writes the constant again. Constants with more
/// than two different elements, that are outputs or that opaque nodes use stay; names of the latter count.
NamedConstants name_constants(GraphBank& bank, std::span<const ValueId> outputs, const algebra::TermBank& terms,
                              const std::vector<algebra::RuleRecord>& rules, const std::set<std::string>& names = {});

}  // namespace rulemill::optimize
