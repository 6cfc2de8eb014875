// A rule compiled for matching: numbered terms, sizes split into those that a match binds and those that it computes,
// and for each direction a short program that matches one side and the list of nodes that the applier builds.
#pragma once

#include <cstdint>
#include <vector>

#include "algebra/terms/typing.h"
#include "egraph/size_table.h"

namespace rulemill::egraph {

/// A size of the rule: a number, one of the rule's sizes, or a polynomial over them.
struct SizePattern {
  enum class Kind : std::uint8_t { Number, Slot, Compound };
  Kind kind = Kind::Number;
  SizeId size{};                     // the pattern itself
  std::uint32_t slot = 0;            // Slot
  std::vector<algebra::Atom> atoms;  // Compound: its atoms, and the slots of their values
  std::vector<std::uint32_t> slots;
};

/// A node of either side. Terms are numbered by registers: the rule's variables first, then the outputs of each node.
struct PatternNode {
  algebra::InstanceId instance{};
  bool commutative = false;
  std::vector<std::uint32_t> arguments;  // registers
  std::vector<SizePattern> sizes;
  std::uint32_t first_output = 0;  // register
  std::uint32_t outputs = 0;
};

struct PatternCondition {
  algebra::Relation relation = algebra::Relation::Eq;
  SizePattern left, right;
};

/// One step of matching a side.
struct PatternStep {
  enum class Kind : std::uint8_t {
    Scan,      // match the node anywhere
    Bind,      // match the node in the class in register `from`, by its output `output`
    Variable,  // bind the variable `from` to any class
  };
  Kind kind = Kind::Scan;
  std::uint32_t node = 0, from = 0, output = 0;
  // Scan, Bind: by argument and by output, whether its register is bound, so that it must be compared.
  std::vector<bool> bound, output_bound;
};

/// A rule read in one direction: `left` is matched; `right` is built and merged with it, output by output.
struct Direction {
  bool forward = true;
  std::vector<PatternStep> steps;
  std::vector<std::uint32_t> matched_nodes;  // nodes of either side that the steps match
  std::vector<std::uint32_t> applier_nodes;  // the other nodes of the right side, arguments first
  std::vector<std::uint32_t> left, right;    // registers of the outputs
  std::uint32_t depth = 0;                   // of the classes compared below a scanned node
  std::uint32_t last_scan = 0;               // index of the last Scan step; the number of steps if a Variable follows
  bool expands = false;                      // the right side has more nodes than the left
  bool needs_solver = false;                 // some size occurs only in compound dimensions
};

/// A rule in compiled form.
struct CompiledRule {
  std::uint32_t number = 0;                         // in its RuleIndex
  std::vector<algebra::Atom> sizes;                 // by slot
  std::vector<std::vector<SizePattern>> variables;  // shapes
  std::vector<PatternNode> nodes;
  std::uint32_t registers = 0;
  std::vector<PatternCondition> condition;
  std::vector<Direction> directions;
};

/// Whether an application may create constants (operators without inputs). New constants make derivations expensive; in
/// a model they are folded and cost nothing.
enum class NewConstants : std::uint8_t {
  Forbidden,  // a constant of a right side must exist
  Allowed,
};

/// Compiles both directions, without those that cannot be applied: a rule that widens has none. A variable or size that
/// occurs only on the right side is bound by matching an existing node of the right side. If the left side is a bare
/// variable, the arguments of the right side's root must exist.
CompiledRule compile(const algebra::TypedRule& rule, const algebra::TermBank& bank, SizeTable& sizes,
                     NewConstants new_constants = NewConstants::Forbidden);

}  // namespace rulemill::egraph
