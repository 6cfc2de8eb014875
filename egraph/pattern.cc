#include "egraph/pattern.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/text/error.h"

namespace rulemill::egraph {
namespace {

using algebra::Atom;
using algebra::NodeId;
using algebra::Poly;
using algebra::TermId;

class RuleCompiler {
 public:
  RuleCompiler(const algebra::TypedRule& rule, const algebra::TermBank& bank, SizeTable& sizes,
               NewConstants new_constants)
      : rule_(rule), bank_(bank), sizes_(sizes), new_constants_(new_constants) {}

  CompiledRule compile() {
    for (const TermId variable : rule_.rule.variables) {
      registers_.emplace(variable, compiled_.registers++);
      std::vector<SizePattern>& dims = compiled_.variables.emplace_back();
      for (const Poly& dim : rule_.rule.shapes[compiled_.variables.size() - 1]) dims.push_back(pattern(dim));
    }
    for (const NodeId id : nodes_of(rule_.rule, bank_)) add_node(id);
    for (const algebra::SizeCondition& condition : rule_.rule.condition)
      compiled_.condition.push_back({condition.relation, pattern(condition.left), pattern(condition.right)});
    for (const bool forward : {true, false}) {
      if (rule_.rule.widens) break;  // it is no equation, and its sides must not become one class
      if (auto direction = compile_direction(forward)) compiled_.directions.push_back(std::move(*direction));
    }
    return std::move(compiled_);
  }

 private:
  SizePattern pattern(const Poly& poly) {
    SizePattern result;
    result.size = sizes_.intern(poly);
    if (poly.constant()) return result;
    result.atoms = sizes_.symbols().atoms(poly);
    for (const Atom atom : result.atoms) result.slots.push_back(slot(atom));
    result.kind =
        poly.atom() && result.atoms.front() == *poly.atom() ? SizePattern::Kind::Slot : SizePattern::Kind::Compound;
    result.slot = result.slots.front();
    return result;
  }

  std::uint32_t slot(Atom atom) {
    const auto [found, inserted] = slots_.try_emplace(atom, static_cast<std::uint32_t>(compiled_.sizes.size()));
    if (inserted) compiled_.sizes.push_back(atom);
    return found->second;
  }

  void add_node(NodeId id) {
    const algebra::Node& node = bank_.node(id);
    const algebra::OperatorInstance& instance = bank_.library().instance(node.instance);
    PatternNode result{.instance = node.instance,
                       .commutative = instance.commutative,
                       .arguments = {},
                       .sizes = {},
                       .first_output = compiled_.registers,
                       .outputs = static_cast<std::uint32_t>(instance.outputs.size())};
    for (const TermId argument : node.arguments) result.arguments.push_back(register_of(argument));
    for (const Poly& size : node.sizes) result.sizes.push_back(pattern(size));
    node_index_.emplace(id, static_cast<std::uint32_t>(compiled_.nodes.size()));
    compiled_.registers += result.outputs;
    compiled_.nodes.push_back(std::move(result));
  }

  std::uint32_t register_of(TermId id) const {
    const algebra::Term& term = bank_.term(id);
    if (!term.is_variable) return compiled_.nodes[node_index_.at(term.node)].first_output + term.output;
    const auto found = registers_.find(id);
    RM_CHECK(found != registers_.end(), "every variable of a rule is listed");
    return found->second;
  }
  bool is_variable(std::uint32_t reg) const { return reg < compiled_.variables.size(); }
  /// The node whose output the register is.
  std::uint32_t node_of(std::uint32_t reg) const {
    const auto has = [&](const PatternNode& node) {
      return reg >= node.first_output && reg < node.first_output + node.outputs;
    };
    const auto found = std::ranges::find_if(compiled_.nodes, has);
    RM_CHECK(found != compiled_.nodes.end(), "a register is a variable or a node's output");
    return static_cast<std::uint32_t>(found - compiled_.nodes.begin());
  }

  /// Appends the nodes under a register, arguments first.
  void collect_nodes(std::uint32_t reg, std::vector<std::uint32_t>& nodes) const {
    if (is_variable(reg)) return;
    const std::uint32_t node = node_of(reg);
    if (std::ranges::find(nodes, node) != nodes.end()) return;
    for (const std::uint32_t argument : compiled_.nodes[node].arguments) collect_nodes(argument, nodes);
    nodes.push_back(node);
  }

  std::optional<Direction> compile_direction(bool forward) {
    Direction result;
    result.forward = forward;
    const auto& left = forward ? rule_.rule.source : rule_.rule.target;
    const auto& right = forward ? rule_.rule.target : rule_.rule.source;
    for (const TermId root : left) result.left.push_back(register_of(root));
    for (const TermId root : right) result.right.push_back(register_of(root));

    bound_.assign(compiled_.registers, false);
    bare_variables_.clear();
    for (const std::uint32_t root : result.left) add_steps_for(root, result);
    const bool from_bare_variables = std::ranges::all_of(result.left, [&](auto root) { return is_variable(root); });
    if (!match_required_applier_nodes(from_bare_variables, result)) return std::nullopt;
    for (const std::uint32_t variable : bare_variables_) {
      if (bound_[variable]) continue;
      result.steps.push_back({.kind = PatternStep::Kind::Variable,
                              .node = 0,
                              .from = variable,
                              .output = 0,
                              .bound = {},
                              .output_bound = {}});
      bound_[variable] = true;
    }
    for (std::uint32_t i = 0; i < result.steps.size(); ++i) {
      if (result.steps[i].kind == PatternStep::Kind::Scan) result.last_scan = i;
      if (result.steps[i].kind == PatternStep::Kind::Variable)
        result.last_scan = static_cast<std::uint32_t>(result.steps.size());
    }
    std::vector<std::uint32_t> left_nodes, right_nodes;
    for (const std::uint32_t root : result.left) collect_nodes(root, left_nodes);
    for (const std::uint32_t root : result.right) collect_nodes(root, right_nodes);
    result.expands = right_nodes.size() > left_nodes.size();
    for (const std::uint32_t node : right_nodes) {
      if (std::ranges::find(result.matched_nodes, node) == result.matched_nodes.end())
        result.applier_nodes.push_back(node);
    }
    return set_solver(result) ? std::optional(std::move(result)) : std::nullopt;
  }

  /// Adds the steps that match the term of a register.
  void add_steps_for(std::uint32_t root, Direction& direction) {
    if (is_variable(root)) {
      bare_variables_.push_back(root);
      return;
    }
    const std::uint32_t node = node_of(root);
    if (std::ranges::find(direction.matched_nodes, node) != direction.matched_nodes.end()) return;
    add_steps({.kind = PatternStep::Kind::Scan, .node = node, .from = 0, .output = 0, .bound = {}, .output_bound = {}},
              0, direction);
  }

  void add_steps(PatternStep step, std::uint32_t depth, Direction& direction) {
    const PatternNode& node = compiled_.nodes[step.node];
    direction.matched_nodes.push_back(step.node);
    for (std::uint32_t i = 0; i < node.outputs; ++i) {
      step.output_bound.push_back(bound_[node.first_output + i]);
      bound_[node.first_output + i] = true;
    }
    std::vector<std::uint32_t> inner;
    for (const std::uint32_t argument : node.arguments) {
      step.bound.push_back(bound_[argument]);
      if (!bound_[argument] && !is_variable(argument)) inner.push_back(argument);
      if (bound_[argument] || !is_variable(argument)) direction.depth = std::max(direction.depth, depth + 1);
      bound_[argument] = true;
    }
    direction.steps.push_back(std::move(step));
    for (const std::uint32_t argument : inner) {
      const std::uint32_t below = node_of(argument);
      if (std::ranges::find(direction.matched_nodes, below) != direction.matched_nodes.end()) continue;
      add_steps({.kind = PatternStep::Kind::Bind,
                 .node = below,
                 .from = argument,
                 .output = argument - compiled_.nodes[below].first_output,
                 .bound = {},
                 .output_bound = {}},
                depth + 1, direction);
    }
  }

  /// Adds steps for the nodes of the right side that must exist. False if the direction cannot be used.
  bool match_required_applier_nodes(bool from_bare_variables, Direction& direction) {
    std::vector<std::uint32_t> nodes;
    for (const std::uint32_t root : direction.right) {
      if (is_variable(root) && !bound_[root] && std::ranges::find(bare_variables_, root) == bare_variables_.end())
        return false;
      collect_nodes(root, nodes);
    }
    if (from_bare_variables) {
      for (const std::uint32_t root : direction.right) {
        if (is_variable(root)) continue;
        for (const std::uint32_t argument : compiled_.nodes[node_of(root)].arguments) {
          if (!is_variable(argument)) add_steps_for(argument, direction);
        }
      }
      // x = f(x, x) would create f for every x.
      if (direction.matched_nodes.empty()) return false;
    }
    for (const std::uint32_t node : nodes) {
      if (std::ranges::find(direction.matched_nodes, node) != direction.matched_nodes.end()) continue;
      const bool binds_variable = std::ranges::any_of(compiled_.nodes[node].arguments, [&](std::uint32_t argument) {
        return is_variable(argument) && !bound_[argument] &&
               std::ranges::find(bare_variables_, argument) == bare_variables_.end();
      });
      const bool is_constant = compiled_.nodes[node].arguments.empty();
      if ((is_constant && new_constants_ == NewConstants::Forbidden) || binds_variable || binds_size(node, direction))
        add_steps_for(compiled_.nodes[node].first_output, direction);
    }
    return true;
  }

  /// The sizes that the matched nodes determine: as single dimensions or, with `compound`, also by equations.
  std::vector<bool> determined_slots(const Direction& direction, bool compound) const {
    std::vector<bool> known(compiled_.sizes.size(), false);
    const auto bind_size = [&](const SizePattern& size) {
      if (size.kind == SizePattern::Kind::Slot) known[size.slot] = true;
      if (compound) {
        for (const std::uint32_t s : size.slots) known[s] = true;
      }
    };
    for (std::uint32_t v = 0; v < compiled_.variables.size(); ++v) {
      if (!bound_[v] && std::ranges::find(bare_variables_, v) == bare_variables_.end()) continue;
      for (const SizePattern& dim : compiled_.variables[v]) bind_size(dim);
    }
    for (const std::uint32_t node : direction.matched_nodes) {
      for (const SizePattern& size : compiled_.nodes[node].sizes) bind_size(size);
    }
    for (const PatternCondition& condition : compiled_.condition) {
      if (!compound || condition.relation != algebra::Relation::Eq) continue;
      for (const SizePattern* side : {&condition.left, &condition.right}) {
        for (const std::uint32_t s : side->slots) known[s] = true;
      }
    }
    return known;
  }

  /// True if the node has a size parameter that the matched nodes do not determine.
  bool binds_size(std::uint32_t node, const Direction& direction) const {
    const std::vector<bool> known = determined_slots(direction, true);
    return std::ranges::any_of(compiled_.nodes[node].sizes, [&](const SizePattern& size) {
      return std::ranges::any_of(size.slots, [&](std::uint32_t s) { return !known[s]; });
    });
  }

  /// False if some size is undetermined: it occurs in no type and no size of the matched nodes.
  bool set_solver(Direction& direction) const {
    const std::vector<bool> by_dimensions = determined_slots(direction, false),
                            by_equations = determined_slots(direction, true);
    direction.needs_solver = std::ranges::find(by_dimensions, false) != by_dimensions.end();
    return std::ranges::find(by_equations, false) == by_equations.end();
  }

  const algebra::TypedRule& rule_;
  const algebra::TermBank& bank_;
  SizeTable& sizes_;
  NewConstants new_constants_;
  CompiledRule compiled_;
  std::unordered_map<TermId, std::uint32_t> registers_;
  std::unordered_map<NodeId, std::uint32_t> node_index_;
  std::unordered_map<Atom, std::uint32_t> slots_;
  std::vector<bool> bound_;                    // by register
  std::vector<std::uint32_t> bare_variables_;  // variables that are roots of the matched side
};

}  // namespace

CompiledRule compile(const algebra::TypedRule& rule, const algebra::TermBank& bank, SizeTable& sizes,
                     NewConstants new_constants) {
  return RuleCompiler(rule, bank, sizes, new_constants).compile();
}

}  // namespace rulemill::egraph
