// The core form of a rule: all that a proof depends on. Operators are instances with their definitions expanded, nodes
// are numbered, sizes are polynomials in the checker's atoms, and laws are equations. `check/core_rule` makes it from a
// rule and the definitions; the kernel reads nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algebra/operators/function.h"
#include "algebra/operators/law.h"
#include "algebra/operators/operator_instance.h"
#include "check/kernel/atoms.h"

namespace rulemill::check {

using Shape = std::vector<Poly>;

/// A variable, or an output of a node.
struct CoreTerm {
  bool is_variable = false;
  std::uint32_t number = 0;  // of the variable or node
  std::uint32_t output = 0;
  auto operator<=>(const CoreTerm&) const = default;
};

struct CoreNode {
  const algebra::OperatorInstance* instance = nullptr;
  std::vector<CoreTerm> arguments;  // of earlier nodes
  std::vector<Poly> sizes;          // the node's size parameters
};

struct CoreRule {
  struct Variable {
    std::string name;
    Shape shape;
  };
  std::vector<Variable> variables;
  Guards condition;
  std::vector<CoreNode> nodes;
  std::vector<CoreTerm> source, target;
  std::vector<Poly> nonzero;                     // of an instance, to be shown of numbers that are not 0
  std::span<const algebra::Function> functions;  // by the numbers of Apply
  std::span<const algebra::LawEquation> laws;
};

}  // namespace rulemill::check
