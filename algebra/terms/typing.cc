#include "algebra/terms/typing.h"

#include <fmt/format.h>
#include <algorithm>
#include <set>
#include <tuple>

#include "algebra/sizes/size_names.h"
#include "algebra/sizes/unify.h"
#include "algebra/terms/narrowing.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/size_condition.h"
#include "algebra/terms/split_positions.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

class TypeInference {
 public:
  TypeInference(const Rule& rule, TermBank& bank, Symbols& symbols,
                const std::vector<std::vector<std::int64_t>>* example)
      : rule_(rule), bank_(bank), symbols_(symbols), example_(example), unifier_(symbols) {}

  std::variant<TypedRule, TypeError> run() {
    try {
      const bool typed = type_variables() && add_conditions() && type_source() && type_nodes(rule_.target) &&
                         record_types() && equate_outputs() && unifier_.simplify_residue(positive_) &&
                         fix_forced_sizes();
      if (typed) return build_typed_rule();
    } catch (const runtime::Error& error) {
      return TypeError{error.what()};
    }
    if (error_.empty()) error_ = "the sizes' equations contradict each other";
    return TypeError{error_};
  }

 private:
  bool fail(std::string message) {
    if (error_.empty()) error_ = std::move(message);
    return false;
  }

  bool type_variables() {
    for (std::size_t i = 0; i < rule_.variables.size(); ++i) {
      const TermId variable = rule_.variables[i];
      const std::uint32_t rank = bank_.term(variable).rank;
      Shape shape;
      if (example_) {
        if ((*example_)[i].size() != rank)
          return fail("the example of " + bank_.term(variable).name + " has another rank");
        for (const std::int64_t number : (*example_)[i]) shape.push_back(fresh_with_example("d", number));
      } else if (!rule_.shapes.empty()) {
        shape = rule_.shapes[i];
        if (shape.size() != rank)
          return fail("the declared shape of " + bank_.term(variable).name + " has another rank");
        for (const Poly& dim : shape) {
          declare(dim);
          if (!dim.atom()) add_positive(dim);
        }
      } else {
        for (std::uint32_t d = 0; d < rank; ++d) {
          const Atom size = symbols_.fresh_size("d");
          shape.push_back(Poly(size));
          dimension_names_.emplace(size, Poly(symbols_.size(dimension_name(variable, d))));
        }
      }
      types_[variable] = std::move(shape);
    }
    return true;
  }

  /// The rule's own condition: equations are unified, inequalities kept.
  bool add_conditions() {
    for (const SizeCondition& condition : rule_.condition) {
      declare(condition.left);
      declare(condition.right);
      if (condition.relation != Relation::Eq) {
        inequalities_.push_back(condition);
        continue;
      }
      if (!add_equation(condition.left, condition.right))
        return fail("no sizes satisfy the condition " + to_string(condition, symbols_));
    }
    return true;
  }

  bool add_equation(const Poly& a, const Poly& b) {
    if (const std::optional<Congruence> c = as_congruence(unifier_.resolve(a - b), symbols_)) {
      if (c->k == 0) return unifier_.add_divisibility(c->b, c->a);
      return unifier_.add_divisibility(c->b, c->a - c->k + c->b);
    }
    return unifier_.unify(a, b);
  }

  bool type_nodes(const std::vector<TermId>& roots) {
    for (const NodeId id : bank_.nodes(roots)) {
      if (!slots_.contains(id) && !type_node(id)) return false;
    }
    return true;
  }

  bool type_node(NodeId id) {
    const Node& node = bank_.node(id);
    const OperatorInstance& instance = bank_.library().instance(node.instance);
    std::vector<std::optional<Poly>> bound(instance.size_names.size());
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      const Shape& actual = types_.at(node.arguments[i]);
      const auto& formal = instance.inputs[i];
      if (actual.size() != formal.size())
        return fail(fmt::format("{}: argument {} has rank {}, expected {}", place(id), instance.input_names[i],
                                actual.size(), formal.size()));
      for (std::size_t d = 0; d < formal.size(); ++d) {
        const bool is_slot = formal[d]->kind == IndexExpr::Kind::Size;
        if (is_slot && !bound[formal[d]->slot]) {
          bound[formal[d]->slot] = actual[d];
          continue;
        }
        const Poly expected = is_slot ? *bound[formal[d]->slot] : Poly(formal[d]->value);
        if (unifier_.unify(actual[d], expected)) continue;
        const auto [found, wanted] = readable(actual[d], expected);
        return fail(fmt::format("{}: dimension {} of argument {} is {}, expected {}", place(id), d,
                                instance.input_names[i], symbols_.to_string(found), symbols_.to_string(wanted)));
      }
    }
    std::vector<Poly>& slots = slots_[id];
    for (std::size_t s = 0; s < instance.first_size_parameter; ++s) {
      RM_CHECK(bound[s].has_value(), instance.name + " has a size that no input binds");
      slots.push_back(*bound[s]);
    }
    for (std::uint32_t p = 0; p < instance.size_parameter_count(); ++p) slots.push_back(Poly(0));
    for (std::uint32_t p = 0; p < instance.size_parameter_count(); ++p)
      slots[instance.first_size_parameter + p] = size_parameter(id, instance.first_size_parameter + p, node.sizes[p]);
    for (const Comparison& condition : instance.conditions) {
      if (!add_operator_condition(condition, slots))
        return fail(place(id) + ": the condition of " + instance.operator_name + " on its sizes cannot hold");
    }
    type_outputs(id, instance, slots);
    return true;
  }

  void type_outputs(NodeId id, const OperatorInstance& instance, const std::vector<Poly>& slots) {
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
      Shape shape;
      for (const IndexExprPtr& dim : instance.outputs[o].dims) {
        shape.push_back(evaluate(*dim, slots, {}, symbols_));
        add_positive(shape.back());
      }
      types_[bank_.output(id, o)] = std::move(shape);
    }
  }

  void add_positive(const Poly& size) {
    if (std::ranges::find(positive_, size) == positive_.end()) positive_.push_back(size);
  }

  /// A number in a candidate is an example: of a boundary below, or of a fresh size.
  Poly size_parameter(NodeId id, std::uint32_t slot, const Poly& given) {
    if (!example_ || !given.constant()) {
      declare(given);
      add_positive(given);
      return given;
    }
    const PositionContext context{bank_, types_, slots_, [this](const Poly& poly) {
                                    return symbols_.evaluate(poly, [this](Atom atom) { return example_value(atom); });
                                  }};
    if (std::optional<Poly> position = trace_split_position(context, id, slot, *given.constant())) return *position;
    return fresh_with_example("s", *given.constant());
  }

  bool add_operator_condition(const Comparison& condition, const std::vector<Poly>& slots) {
    std::vector<Poly> sizes;
    sizes.reserve(slots.size());
    for (const Poly& slot : slots) sizes.push_back(unifier_.resolve(slot));
    const auto value = [&](const IndexExpr& e) { return evaluate(e, sizes, {}, symbols_); };
    if (condition.relation == Relation::Eq) {
      for (const auto& [whole, rest] : {std::pair(condition.a, condition.b), std::pair(condition.b, condition.a)}) {
        if (whole->kind != IndexExpr::Kind::Mod || rest->kind != IndexExpr::Kind::Constant || rest->value != 0)
          continue;
        return unifier_.add_divisibility(value(*whole->b), value(*whole->a));
      }
      return add_equation(value(*condition.a), value(*condition.b));
    }
    guarantees_.push_back({condition.relation, value(*condition.a), value(*condition.b)});
    return true;
  }

  bool equate_outputs() {
    if (rule_.source.size() != rule_.target.size()) return fail("the sides have different numbers of outputs");
    for (std::size_t i = 0; i < rule_.source.size(); ++i) {
      const Shape& a = types_.at(rule_.source[i]);
      const Shape& b = types_.at(rule_.target[i]);
      if (a.size() != b.size())
        return fail(fmt::format("output {} has rank {} on the left and {} on the right", i, a.size(), b.size()));
      for (std::size_t d = 0; d < a.size(); ++d) {
        if (add_equation(a[d], b[d])) continue;
        const auto [left, right] = readable(a[d], b[d]);
        return fail(fmt::format("dimension {} of output {} is {} on the left and {} on the right", d, i,
                                symbols_.to_string(left), symbols_.to_string(right)));
      }
    }
    return true;
  }

  bool type_source() {
    if (!example_) {
      named_ = sizes_in(sizes_in_text(rule_, bank_, symbols_));
      stated_.emplace(unifier_);
    }
    if (!type_nodes(rule_.source) || !unifier_.simplify_residue(positive_)) return false;
    source_guarantee_count_ = guarantees_.size();
    return true;
  }

  /// Records the types of the sides, before their outputs are equated.
  bool record_types() {
    if (example_) return true;
    if (!unifier_.simplify_residue(positive_) || !fix_forced_sizes()) return false;
    typed_sides_.emplace(unifier_);
    bounds_of_sides_ = guarantee_polys();
    return true;
  }

  /// The sizes that stand for these now.
  std::set<Atom> sizes_in(const std::set<Atom>& given) const {
    std::set<Atom> sizes;
    for (const Atom each : given) {
      for (const Atom atom : symbols_.atoms(unifier_.resolve(Poly(each)))) sizes.insert(atom);
    }
    return sizes;
  }

  /// Polynomials that typing guarantees to be at least zero.
  std::vector<Poly> guarantee_polys() const {
    std::vector<Poly> polys;
    for (const Poly& dim : positive_) polys.push_back(unifier_.resolve(dim) - 1);
    for (const auto& [size, value] : unifier_.solution()) polys.push_back(value - 1);
    for (const auto* conditions : {&guarantees_, &inequalities_}) {
      for (const SizeCondition& c : *conditions) {
        if (c.relation != Relation::Lt && c.relation != Relation::Le) continue;
        polys.push_back(unifier_.resolve(c.right - c.left) - (c.relation == Relation::Lt ? 1 : 0));
      }
    }
    std::sort(polys.begin(), polys.end());
    polys.erase(std::unique(polys.begin(), polys.end()), polys.end());
    return polys;
  }

  /// A guarantee that decreases in every size and is tight where all sizes are 1 fixes its sizes to 1.
  bool fix_forced_sizes() {
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<Poly> polys = guarantee_polys();
      for (const Poly& equation : unifier_.residue()) {
        polys.push_back(equation);
        polys.push_back(-equation);
      }
      for (const Poly& poly : polys) {
        const auto is_decreasing = [&](const Poly::Term& term) {
          return term.monomial.empty() || term.coefficient < 0;
        };
        const std::vector<Atom> sizes = symbols_.atoms(poly, true);
        const bool has_only_sizes = std::all_of(sizes.begin(), sizes.end(),
                                                [&](Atom atom) { return symbols_.kind(atom) == Symbols::Kind::Size; });
        if (!has_only_sizes || !std::all_of(poly.terms().begin(), poly.terms().end(), is_decreasing)) continue;
        const auto value_at = [&](std::optional<Atom> two) {
          return symbols_.evaluate(poly, [&](Atom atom) { return atom == two ? 2 : 1; });
        };
        if (value_at(std::nullopt) < 0) {
          SizeCondition condition = at_least_zero(poly);
          std::tie(condition.left, condition.right) = readable(condition.left, condition.right);
          return fail("no sizes satisfy " + to_string(condition, symbols_));
        }
        for (const Atom size : sizes) {
          if (value_at(size) >= 0) continue;
          if (!unifier_.unify(Poly(size), 1)) return false;
          changed = true;
        }
        if (changed) break;
      }
    }
    return unifier_.simplify_residue(positive_);
  }

  TypedRule build_typed_rule() {
    name_sizes();
    TypedRule typed;
    typed.rule.id = rule_.id;
    typed.rule.tier = rule_.tier;
    typed.rule.widens = rule_.widens;
    typed.rule.variables = rule_.variables;
    for (const Atom group : rule_.packs) {
      if (unifier_.resolve(Poly(group)) == Poly(group)) typed.rule.packs.push_back(group);
    }
    for (const TermId variable : rule_.variables) typed.rule.shapes.push_back(final_shape(types_.at(variable)));
    typed.rule.source = rule_.source;
    typed.rule.target = rule_.target;
    TermMap images;
    rewrite_nodes(typed.rule, bank_, images, [&](NodeId id, std::span<const TermId> arguments) {
      const OperatorInstance& instance = bank_.library().instance(bank_.node(id).instance);
      std::vector<Poly> sizes;
      for (std::size_t slot = instance.first_size_parameter; slot < instance.size_names.size(); ++slot)
        sizes.push_back(final_size(slots_.at(id)[slot]));
      const NodeId image = bank_.apply(instance.id, arguments, sizes);
      for (std::uint32_t o = 0; o < instance.outputs.size(); ++o)
        typed.types[bank_.output(image, o)] = final_shape(types_.at(bank_.output(id, o)));
      return image;
    });
    for (const TermId variable : rule_.variables) typed.types[variable] = final_shape(types_.at(variable));
    collect_facts(typed);
    collect_target_conditions(typed);
    if (!example_) typed.narrowing = final_narrowing();
    return typed;
  }

  Poly final_size(const Poly& poly) { return symbols_.substitute(unifier_.resolve(poly), final_names_); }
  Shape final_shape(const Shape& shape) {
    Shape result;
    for (const Poly& dim : shape) result.push_back(final_size(dim));
    return result;
  }

  /// Adds the conditions of the target's operators that the source does not imply to the rule's condition.
  void collect_target_conditions(TypedRule& typed) {
    std::vector<Poly> implied;
    const auto add_implied = [&](const SizeCondition& c) {
      if (c.relation == Relation::Lt || c.relation == Relation::Le) implied.push_back(nonnegative_difference(c));
    };
    for (std::size_t i = 0; i < source_guarantee_count_; ++i) add_implied(guarantees_[i]);
    for (const SizeCondition& c : inequalities_) add_implied(c);
    for (const Shape& shape : typed.rule.shapes) {
      for (const Poly& dim : shape) implied.push_back(dim - 1);
    }
    const auto is_implied = [&](const Poly& poly) {
      return symbols_.is_nonnegative(poly) ||
             std::ranges::any_of(implied, [&](const Poly& known) { return symbols_.is_nonnegative(poly - known); });
    };
    for (std::size_t i = source_guarantee_count_; i < guarantees_.size(); ++i) {
      const SizeCondition& c = guarantees_[i];
      if (c.relation == Relation::Ne) {
        const SizeCondition condition{c.relation, final_size(c.left), final_size(c.right)};
        if (holds(condition, symbols_) != Truth::Yes) add_condition(typed, condition);
      } else if (const Poly poly = nonnegative_difference(c); !is_implied(poly)) {
        add_condition(typed, at_least_zero(poly));
        implied.push_back(poly);
      }
    }
  }

  static void add_condition(TypedRule& typed, const SizeCondition& condition) {
    std::vector<SizeCondition>& all = typed.rule.condition;
    if (std::ranges::find(all, condition) == all.end()) all.push_back(condition);
  }

  /// right − left, minus 1 if the condition is strict: at least 0 where the condition holds.
  Poly nonnegative_difference(const SizeCondition& c) {
    return final_size(c.right - c.left) - (c.relation == Relation::Lt ? 1 : 0);
  }

  void collect_facts(TypedRule& typed) {
    const auto add = [](std::vector<SizeCondition>& to, SizeCondition condition) {
      if (std::find(to.begin(), to.end(), condition) == to.end()) to.push_back(std::move(condition));
    };
    for (const Poly& poly : unifier_.residue()) add(typed.rule.condition, equals_zero(final_size(poly)));
    for (const SizeCondition& c : inequalities_) {
      const SizeCondition condition{c.relation, final_size(c.left), final_size(c.right)};
      if (holds(condition, symbols_) != Truth::Yes) add(typed.rule.condition, condition);
    }
    for (const SizeCondition& c : guarantees_) {
      if (c.relation != Relation::Ne) continue;
      const SizeCondition condition{c.relation, final_size(c.left), final_size(c.right)};
      if (holds(condition, symbols_) != Truth::Yes) add(typed.facts, condition);
    }
    for (const Poly& poly : guarantee_polys()) {
      const Poly fact = symbols_.substitute(poly, final_names_);
      if (!symbols_.is_nonnegative(fact)) add(typed.facts, at_least_zero(fact));
    }
  }

  Narrowing final_narrowing() {
    std::set<Atom> all = named_;
    for (const auto& [atom, name] : dimension_names_) all.insert(atom);
    NarrowingSearch search(symbols_, positive_, unifier_);
    search.add_equations(*stated_, named_);
    search.add_equations(*typed_sides_, all);
    search.add_solutions(*typed_sides_, all);
    search.add_bounds(*typed_sides_, all, bounds_of_sides_, guarantee_polys());
    Substitution names = final_names_;
    for (const auto& [atom, name] : dimension_names_) names[atom] = name;
    Narrowing result;
    for (const SizeCondition& each : search.conditions())
      result.conditions.push_back(substitute(each, names, symbols_));
    for (const Poly& bound : result.conditions.empty() ? std::vector<Poly>{} : bounds_of_sides_)
      result.known.push_back(at_least_zero(symbols_.substitute(bound, names)));
    return result;
  }

  std::string dimension_name(TermId variable, std::size_t dimension) const {
    return fmt::format("{}[{}]", bank_.term(variable).name, dimension);
  }

  /// Chooses readable names for undeclared sizes: that of the first slot that they fill, else their own prefix.
  void name_sizes() {
    SizeNamer namer(symbols_, declared_);
    for (const TermId variable : rule_.variables) {
      for (const Poly& dim : types_.at(variable)) namer.add(unifier_.resolve(dim));
    }
    std::vector<NodeId> nodes = bank_.nodes(rule_.source);
    for (const NodeId id : bank_.nodes(rule_.target)) {
      if (std::find(nodes.begin(), nodes.end(), id) == nodes.end()) nodes.push_back(id);
    }
    for (const NodeId id : nodes) {
      const OperatorInstance& instance = bank_.library().instance(bank_.node(id).instance);
      for (std::size_t s = 0; s < instance.size_names.size(); ++s)
        namer.add(unifier_.resolve(slots_.at(id)[s]), instance.size_names[s]);
    }
    for (const Poly& equation : unifier_.residue()) namer.add(equation);
    if (typed_sides_) {
      for (const Poly& bound : bounds_of_sides_) namer.add(bound);
      for (const auto& [size, value] : unifier_.solution()) namer.add(Poly(size));
    }
    final_names_ = namer.substitution();
  }

  Poly fresh_with_example(const std::string& prefix, std::int64_t example) {
    const Atom atom = symbols_.fresh_size(prefix);
    example_values_[atom] = example;
    return Poly(atom);
  }
  std::int64_t example_value(Atom atom) const {
    const auto found = example_values_.find(atom);
    return found == example_values_.end() ? 0 : found->second;
  }
  void declare(const Poly& poly) {
    for (const Atom atom : symbols_.atoms(poly)) {
      const bool is_new = std::find(declared_.begin(), declared_.end(), atom) == declared_.end();
      if (is_new && !symbols_.is_open(atom)) declared_.push_back(atom);
    }
  }
  std::string place(NodeId id) const { return to_string(bank_.output(id, 0), bank_, symbols_); }

  /// Renames undeclared sizes for a message: to dimensions of variables, such as x[0], where they are any.
  std::pair<Poly, Poly> readable(const Poly& a, const Poly& b) {
    std::vector<Atom> named = declared_;
    Substitution dimensions;
    for (const TermId variable : rule_.variables) {
      const Shape& shape = types_.at(variable);
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const std::optional<Atom> size = unifier_.resolve(shape[d]).atom();
        if (!size || std::ranges::find(named, *size) != named.end()) continue;
        const Atom name = symbols_.size(dimension_name(variable, d));
        if (dimensions.try_emplace(*size, Poly(name)).second) named.push_back(name);
      }
    }
    SizeNamer namer(symbols_, named);
    const auto renamed = [&](const Poly& poly) { return symbols_.substitute(unifier_.resolve(poly), dimensions); };
    for (const Poly& poly : {renamed(a), renamed(b)}) namer.add(poly);
    const Substitution others = namer.substitution();
    return {symbols_.substitute(renamed(a), others), symbols_.substitute(renamed(b), others)};
  }

  const Rule& rule_;
  TermBank& bank_;
  Symbols& symbols_;
  const std::vector<std::vector<std::int64_t>>* example_;
  Unifier unifier_;
  std::unordered_map<TermId, Shape> types_;
  std::unordered_map<NodeId, std::vector<Poly>> slots_;
  std::vector<Poly> positive_;               // the different dimensions and sizes of nodes
  std::vector<SizeCondition> guarantees_;    // conditions of the operators
  std::size_t source_guarantee_count_ = 0;   // of these: of the source's
  std::vector<SizeCondition> inequalities_;  // conditions of the rule other than equations
  std::vector<Atom> declared_;
  std::optional<Unifier> stated_, typed_sides_;  // before the nodes, and before the outputs
  std::set<Atom> named_;                         // sizes of the text
  std::vector<Poly> bounds_of_sides_;
  Substitution dimension_names_;  // x[1], of variables without shapes
  std::unordered_map<Atom, std::int64_t> example_values_;
  Substitution final_names_;
  std::string error_;
};

}  // namespace

std::variant<TypedRule, TypeError> infer_types(const Rule& rule, TermBank& bank, Symbols& symbols,
                                               const std::vector<std::vector<std::int64_t>>* example) {
  return TypeInference(rule, bank, symbols, example).run();
}

std::set<Atom> sizes_in_text(const Rule& rule, const TermBank& bank, const Symbols& symbols) {
  std::set<Atom> sizes;
  const auto add = [&](const Poly& poly) {
    for (const Atom atom : symbols.atoms(poly)) {
      if (!symbols.is_open(atom)) sizes.insert(atom);
    }
  };
  for (const Shape& shape : rule.shapes) std::ranges::for_each(shape, add);
  for (const SizeCondition& c : rule.condition) add(c.right - c.left);
  for (const NodeId id : nodes_of(rule, bank)) std::ranges::for_each(bank.node(id).sizes, add);
  return sizes;
}

std::vector<Poly> size_slots(NodeId id, const TypedRule& rule, const TermBank& bank) {
  const Node& node = bank.node(id);
  const OperatorInstance& instance = bank.library().instance(node.instance);
  std::vector<Poly> result(instance.size_names.size());
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    for (std::size_t d = 0; d < instance.inputs[i].size(); ++d) {
      const IndexExpr& dim = *instance.inputs[i][d];
      if (dim.kind == IndexExpr::Kind::Size) result[dim.slot] = rule.types.at(node.arguments[i])[d];
    }
  }
  std::ranges::copy(node.sizes, result.begin() + instance.first_size_parameter);
  return result;
}

}  // namespace rulemill::algebra
