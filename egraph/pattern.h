// A rule compiled for matching: its terms numbered, its sizes split into what a match binds and what it must compute,
// and for each direction a short program that finds the one side in an e-graph and a list of nodes that builds the
// other.
#pragma once

#include <cstdint>
#include <optional>
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
  std::vector<algebra::Atom> atoms;  // Compound: what occurs in it, and where the values stand
  std::vector<std::uint32_t> slots;
};

/// A node of either side. Terms have registers: the rule's variables first, then each output of each node.
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

/// One step of finding a side.
struct Step {
  enum class Kind : std::uint8_t {
    Scan,      // the node, anywhere
    Bind,      // the node, in the class that the register `from` holds, as its output `output`
    Variable,  // the variable `from`, any class
  };
  Kind kind = Kind::Scan;
  std::uint32_t node = 0, from = 0, output = 0;
  // Scan, Bind: by argument and by output, whether its register has a value by then, with which to compare.
  std::vector<bool> bound, output_bound;
};

/// `left` is found, `right` is built and united with it, output by output.
struct Direction {
  bool forward = true;
  std::vector<Step> steps;
  std::vector<std::uint32_t> found;        // nodes that the steps find
  std::vector<std::uint32_t> built;        // nodes of the right side that are not found, arguments first
  std::vector<std::uint32_t> left, right;  // registers of the outputs
  std::uint32_t depth = 0;                 // how far below a node that Scan finds classes are looked at
  std::uint32_t last_scan = 0;             // the last step that is a Scan; as many as there are if a Variable follows
  bool grows = false;                      // the right side has more nodes than the left
  bool needs_solver = false;               // some size stands in compound dimensions alone
};

struct CompiledRule {
  std::uint32_t number = 0;                         // in its RuleIndex
  std::vector<algebra::Atom> sizes;                 // by slot
  std::vector<std::vector<SizePattern>> variables;  // shapes
  std::vector<PatternNode> nodes;
  std::uint32_t registers = 0;
  std::vector<PatternCondition> condition;
  std::vector<Direction> directions;
};

/// Both directions, less those whose variables do not allow it: a variable or size that stands on the right side alone
/// is found through a node of the right side that is there already; so is the rest of a right side made from a bare
/// variable.
///
/// Constants are operators without inputs. Made freely they cost a derivation much; in a model they are folded and
/// free.
enum class Constants : std::uint8_t {
  Found,  // one on a right side must be there already
  Made,
};
CompiledRule compile(const algebra::TypedRule& rule, const algebra::TermBank& bank, SizeTable& sizes,
                     Constants constants = Constants::Found);

}  // namespace rulemill::egraph
