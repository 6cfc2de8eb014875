// Numbers of a model that rules name: a scalar constant that equals an operator without inputs, such as one half.
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

/// Returns true for an operator without inputs and sizes: the name of a number.
bool is_number(const Node& node);

/// Returns the value of the number with this operator; nullopt if the operator does not exist or is none.
std::optional<double> value_of_number(GraphBank& bank, const std::string& operator_name);
/// Returns true if the value is a scalar constant that is the number, rounded to the constant's type.
bool is_constant_of(const GraphBank& bank, ValueId id, double number);

/// Returns the outputs with each scalar constant replaced by the operator of the rules, or else of these names, whose
/// value, rounded to the constant's type, is the same. Export writes the constant again. Constants that are outputs or
/// that opaque nodes use stay, because their names count.
std::vector<ValueId> name_numbers(GraphBank& bank, std::span<const ValueId> outputs, const algebra::TermBank& terms,
                                  const std::vector<algebra::RuleRecord>& rules,
                                  const std::set<std::string>& names = {});

}  // namespace rulemill::optimize
