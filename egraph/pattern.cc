#include "egraph/pattern.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/error.h"

namespace rulemill::egraph {
namespace {

using algebra::Atom;
using algebra::NodeId;
using algebra::Poly;
using algebra::TermId;

class Compiler {
 public:
  Compiler(const algebra::TypedRule& rule, const algebra::TermBank& bank, SizeTable& sizes, Constants constants)
      : rule_(rule), bank_(bank), sizes_(sizes), constants_(constants) {}

  CompiledRule compile() {
    for (const TermId variable : rule_.rule.variables) {
      registers_.emplace(variable, compiled_.registers++);
      std::vector<SizePattern>& dims = compiled_.variables.emplace_back();
      for (const Poly& dim : rule_.rule.shapes[compiled_.variables.size() - 1]) dims.push_back(pattern(dim));
    }
    std::vector<TermId> roots = rule_.rule.source;
    roots.insert(roots.end(), rule_.rule.target.begin(), rule_.rule.target.end());
    for (const NodeId id : bank_.nodes(roots)) add_node(id);
    for (const algebra::SizeCondition& condition : rule_.rule.condition) {
      compiled_.condition.push_back({condition.relation, pattern(condition.left), pattern(condition.right)});
    }
    for (const bool forward : {true, false}) {
      if (auto direction = compile(forward)) compiled_.directions.push_back(std::move(*direction));
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
    const algebra::Instance& instance = bank_.library().instance(node.instance);
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

  /// Nodes under a register, arguments first.
  void collect(std::uint32_t reg, std::vector<std::uint32_t>& into) const {
    if (is_variable(reg)) return;
    const std::uint32_t node = node_of(reg);
    if (std::ranges::find(into, node) != into.end()) return;
    for (const std::uint32_t argument : compiled_.nodes[node].arguments) collect(argument, into);
    into.push_back(node);
  }

  std::optional<Direction> compile(bool forward) {
    Direction result;
    result.forward = forward;
    const auto& left = forward ? rule_.rule.source : rule_.rule.target;
    const auto& right = forward ? rule_.rule.target : rule_.rule.source;
    for (const TermId root : left) result.left.push_back(register_of(root));
    for (const TermId root : right) result.right.push_back(register_of(root));

    bound_.assign(compiled_.registers, false);
    bare_.clear();
    for (const std::uint32_t root : result.left) find(root, result);
    const bool from_bare_variables = std::ranges::all_of(result.left, [&](auto root) { return is_variable(root); });
    if (!find_parts_of_right(from_bare_variables, result)) return std::nullopt;
    for (const std::uint32_t variable : bare_) {
      if (bound_[variable]) continue;
      result.steps.push_back(
          {.kind = Step::Kind::Variable, .node = 0, .from = variable, .output = 0, .bound = {}, .output_bound = {}});
      bound_[variable] = true;
    }
    for (std::uint32_t i = 0; i < result.steps.size(); ++i) {
      if (result.steps[i].kind == Step::Kind::Scan) result.last_scan = i;
      if (result.steps[i].kind == Step::Kind::Variable)
        result.last_scan = static_cast<std::uint32_t>(result.steps.size());
    }
    std::vector<std::uint32_t> left_nodes, right_nodes;
    for (const std::uint32_t root : result.left) collect(root, left_nodes);
    for (const std::uint32_t root : result.right) collect(root, right_nodes);
    result.grows = right_nodes.size() > left_nodes.size();
    for (const std::uint32_t node : right_nodes) {
      if (std::ranges::find(result.found, node) == result.found.end()) result.built.push_back(node);
    }
    return set_solver(result) ? std::optional(std::move(result)) : std::nullopt;
  }

  /// Steps that find the term of a register.
  void find(std::uint32_t root, Direction& direction) {
    if (is_variable(root)) {
      bare_.push_back(root);
      return;
    }
    const std::uint32_t node = node_of(root);
    if (std::ranges::find(direction.found, node) != direction.found.end()) return;
    find_node({.kind = Step::Kind::Scan, .node = node, .from = 0, .output = 0, .bound = {}, .output_bound = {}}, 0,
              direction);
  }

  void find_node(Step step, std::uint32_t depth, Direction& direction) {
    const PatternNode& node = compiled_.nodes[step.node];
    direction.found.push_back(step.node);
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
      if (std::ranges::find(direction.found, below) != direction.found.end()) continue;
      find_node({.kind = Step::Kind::Bind,
                 .node = below,
                 .from = argument,
                 .output = argument - compiled_.nodes[below].first_output,
                 .bound = {},
                 .output_bound = {}},
                depth + 1, direction);
    }
  }

  /// Nodes of the right side that must be there already. False if the direction is of no use.
  bool find_parts_of_right(bool from_bare_variables, Direction& direction) {
    std::vector<std::uint32_t> nodes;
    for (const std::uint32_t root : direction.right) {
      if (is_variable(root) && !bound_[root] && std::ranges::find(bare_, root) == bare_.end()) return false;
      collect(root, nodes);
    }
    if (from_bare_variables) {
      for (const std::uint32_t root : direction.right) {
        if (is_variable(root)) continue;
        for (const std::uint32_t argument : compiled_.nodes[node_of(root)].arguments) {
          if (!is_variable(argument)) find(argument, direction);
        }
      }
      // f(x, x) = x would make f from nothing.
      if (direction.found.empty()) return false;
    }
    for (const std::uint32_t node : nodes) {
      if (std::ranges::find(direction.found, node) != direction.found.end()) continue;
      const bool binds_variable = std::ranges::any_of(compiled_.nodes[node].arguments, [&](std::uint32_t argument) {
        return is_variable(argument) && !bound_[argument] && std::ranges::find(bare_, argument) == bare_.end();
      });
      const bool is_constant = compiled_.nodes[node].arguments.empty();
      if ((is_constant && constants_ == Constants::Found) || binds_variable || binds_size(node, direction))
        find(compiled_.nodes[node].first_output, direction);
    }
    return true;
  }

  /// Sizes that what is found determines: by dimensions that are just them or, with `compound`, perhaps by equations.
  std::vector<bool> bound_slots(const Direction& direction, bool compound) const {
    std::vector<bool> known(compiled_.sizes.size(), false);
    const auto learn = [&](const SizePattern& size) {
      if (size.kind == SizePattern::Kind::Slot) known[size.slot] = true;
      if (compound) {
        for (const std::uint32_t s : size.slots) known[s] = true;
      }
    };
    for (std::uint32_t v = 0; v < compiled_.variables.size(); ++v) {
      if (!bound_[v] && std::ranges::find(bare_, v) == bare_.end()) continue;
      for (const SizePattern& dim : compiled_.variables[v]) learn(dim);
    }
    for (const std::uint32_t node : direction.found) {
      for (const SizePattern& size : compiled_.nodes[node].sizes) learn(size);
    }
    for (const PatternCondition& condition : compiled_.condition) {
      if (!compound || condition.relation != algebra::Relation::Eq) continue;
      for (const SizePattern* side : {&condition.left, &condition.right}) {
        for (const std::uint32_t s : side->slots) known[s] = true;
      }
    }
    return known;
  }

  /// Whether the node has a size parameter that nothing found so far determines.
  bool binds_size(std::uint32_t node, const Direction& direction) const {
    const std::vector<bool> known = bound_slots(direction, true);
    return std::ranges::any_of(compiled_.nodes[node].sizes, [&](const SizePattern& size) {
      return std::ranges::any_of(size.slots, [&](std::uint32_t s) { return !known[s]; });
    });
  }

  /// False if some size is never determined: it occurs in no type and no node of what is found.
  bool set_solver(Direction& direction) const {
    const std::vector<bool> plain = bound_slots(direction, false), all = bound_slots(direction, true);
    direction.needs_solver = std::ranges::find(plain, false) != plain.end();
    return std::ranges::find(all, false) == all.end();
  }

  const algebra::TypedRule& rule_;
  const algebra::TermBank& bank_;
  SizeTable& sizes_;
  Constants constants_;
  CompiledRule compiled_;
  std::unordered_map<TermId, std::uint32_t> registers_;
  std::unordered_map<NodeId, std::uint32_t> node_index_;
  std::unordered_map<Atom, std::uint32_t> slots_;
  std::vector<bool> bound_;          // by register
  std::vector<std::uint32_t> bare_;  // variables that are roots of the side that is found
};

}  // namespace

CompiledRule compile(const algebra::TypedRule& rule, const algebra::TermBank& bank, SizeTable& sizes,
                     Constants constants) {
  return Compiler(rule, bank, sizes, constants).compile();
}

}  // namespace rulemill::egraph
