#include "algebra/language/expand.h"

#include <algorithm>
#include <set>

#include "algebra/language/index_tree.h"
#include "algebra/language/lexer.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

using IndexKind = IndexExpr::Kind;

/// Sizes replaced and tensors renumbered.
ScalarExprPtr replace(const ScalarExprPtr& expr, std::span<const IndexExprPtr> sizes,
                      std::span<const std::uint32_t> tensors) {
  ScalarExpr copy = *expr;
  if (copy.kind == ScalarExpr::Kind::Read) copy.tensor = tensors[copy.tensor];
  for (IndexExprPtr& index : copy.indices) index = replace_sizes(index, sizes);
  for (BoundIndex& bound : copy.bound) bound.extent = replace_sizes(bound.extent, sizes);
  for (Comparison& guard : copy.guard) guard = replace_sizes(guard, sizes);
  for (ScalarExprPtr& operand : copy.operands) operand = replace(operand, sizes, tensors);
  return std::make_shared<ScalarExpr>(std::move(copy));
}

constexpr std::size_t largest_expression = 10'000, most_steps = 1000;

class Expander {
 public:
  Expander(const syntax::Operator& op, const Parameters& parameters, const ExpansionContext& context)
      : op_(op), context_(context) {
    instance_.operator_name = op.name;
    instance_.parameters = parameters;
    instance_.commutative = op.commutative;
  }

  Instance expand(std::span<const std::uint32_t> ranks) {
    packs_ = *pack_lengths(op_, ranks);
    rank_ = ranks.empty() ? 0 : ranks[0];
    alias_excepted_dimensions();
    bind_inputs();
    bind_size_parameters();
    for (const syntax::Condition& condition : op_.conditions) expand_condition(condition);
    for (const auto& [name, expr] : op_.lets) {
      const IndexExprPtr value = index(*expr);
      std::size_t budget = largest_expression;
      if (!fits(*value, budget)) fail(expr->place, "'" + name + "' stands for an expression of too many terms");
      define(name, value, expr->place);
    }
    for (const syntax::Tensor& tensor : op_.tensors) {
      instance_.intermediates.push_back(tensor_definition(tensor));
      tensor_names_.push_back(tensor.name);
      tensor_ranks_.push_back(static_cast<std::uint32_t>(instance_.intermediates.back().dims.size()));
    }
    if (op_.composite) inline_composite();
    for (const syntax::Tensor& output : op_.outputs) instance_.outputs.push_back(tensor_definition(output));
    for (const syntax::OnnxSyntax& onnx : op_.onnx) expand_onnx(onnx);
    name_instance(ranks);
    return std::move(instance_);
  }

 private:
  [[noreturn]] void fail(syntax::Place at, const std::string& message) const {
    throw runtime::InputError(place(op_.origin, at.line, at.column), message);
  }

  // ---- names ----

  std::string pack_element(const std::string& pack, std::uint32_t position) const {
    return pack + "#" + std::to_string(position);
  }

  void define(const std::string& name, IndexExprPtr value, syntax::Place at) {
    if (names_.contains(name)) fail(at, "'" + name + "' already has a meaning here");
    names_[name] = std::move(value);
  }

  const ParameterValue& parameter(const std::string& name, syntax::Place at) const {
    const auto found = instance_.parameters.find(name);
    if (found == instance_.parameters.end()) fail(at, "operator '" + op_.name + "' has no parameter '" + name + "'");
    return found->second;
  }

  std::uint32_t axis(const std::string& name, syntax::Place at) const {
    const auto* value = std::get_if<std::int64_t>(&parameter(name, at));
    if (!value || *value < 0) fail(at, "'" + name + "' is not an axis");
    return static_cast<std::uint32_t>(*value);
  }

  const std::vector<std::int64_t>& permutation(const std::string& name, syntax::Place at) const {
    const auto* value = std::get_if<std::vector<std::int64_t>>(&parameter(name, at));
    if (!value) fail(at, "'" + name + "' is not a permutation");
    return *value;
  }

  bool chosen(const syntax::Choice& choice, syntax::Place at) const {
    const auto* word = std::get_if<std::string>(&parameter(choice.parameter, at));
    if (!word) fail(at, "'" + choice.parameter + "' does not range over words");
    const syntax::Parameter* declared = op_.parameter(choice.parameter);
    if (declared && std::ranges::find(declared->words, choice.word) == declared->words.end()) {
      fail(at, "'" + choice.word + "' is not a value of '" + choice.parameter + "'");
    }
    return *word == choice.word;
  }

  // ---- inputs and sizes ----

  /// "d = e except axis": e's dimensions are d's but for the axis.
  void alias_excepted_dimensions() {
    for (const syntax::Condition& condition : op_.conditions) {
      if (condition.except_left.empty()) continue;
      const auto left = packs_.find(condition.except_left), right = packs_.find(condition.except_right);
      if (left == packs_.end() || right == packs_.end())
        fail(condition.place, "'except' compares two packs of dimensions");
      const std::uint32_t free_axis = axis(condition.except_axis, condition.place);
      for (std::uint32_t k = 0; k < left->second; ++k) {
        if (k != free_axis) aliases_[pack_element(right->first, k)] = pack_element(left->first, k);
      }
    }
  }

  IndexExprPtr size_named(const std::string& name) {
    const auto alias = aliases_.find(name);
    const std::string& key = alias == aliases_.end() ? name : alias->second;
    if (const auto known = names_.find(key); known != names_.end()) {
      names_[name] = known->second;
      return known->second;
    }
    IndexExprPtr slot = slot_reference(IndexKind::Size, static_cast<std::uint32_t>(instance_.size_names.size()));
    std::string shown = key;
    std::erase(shown, '#');
    instance_.size_names.push_back(shown);
    names_[key] = slot;
    names_[name] = slot;
    return slot;
  }

  void bind_inputs() {
    for (const syntax::Input& input : op_.inputs) {
      if (std::ranges::find(tensor_names_, input.name) != tensor_names_.end()) {
        fail(input.place, "two inputs are called '" + input.name + "'");
      }
      auto& dims = instance_.inputs.emplace_back();
      for (const syntax::InputDim& dim : input.dims) {
        if (dim.name.empty()) {
          dims.push_back(constant(dim.number));
        } else if (!dim.is_pack) {
          dims.push_back(size_named(dim.name));
        } else {
          for (std::uint32_t k = 0; k < packs_.at(dim.name); ++k) dims.push_back(size_named(pack_element(dim.name, k)));
        }
      }
      instance_.input_names.push_back(input.name);
      tensor_names_.push_back(input.name);
      tensor_ranks_.push_back(static_cast<std::uint32_t>(dims.size()));
    }
    instance_.first_size_parameter = static_cast<std::uint32_t>(instance_.size_names.size());
  }

  void bind_size_parameters() {
    using Kind = syntax::Parameter::Kind;
    for (const syntax::Parameter& declared : op_.parameters) {
      if (declared.kind == Kind::Size) {
        if (names_.contains(declared.name)) fail(declared.place, "'" + declared.name + "' already names a dimension");
        size_named(declared.name);
      } else if (declared.kind == Kind::Sizes) {
        for (std::uint32_t k = 0; k < packs_.at(declared.name); ++k) size_named(pack_element(declared.name, k));
      } else if (const auto* value = std::get_if<std::int64_t>(&parameter(declared.name, declared.place))) {
        define(declared.name, constant(*value), declared.place);
      }
    }
    if (!names_.contains("rank")) names_["rank"] = constant(rank_);
  }

  void expand_condition(const syntax::Condition& condition) {
    if (!condition.except_left.empty()) return;
    if (condition.choice && !chosen(*condition.choice, condition.place)) return;
    instance_.conditions.push_back(comparison(condition.comparison));
  }

  // ---- index expressions ----

  Comparison comparison(const syntax::Comparison& syntax) {
    return {syntax.relation, index(*syntax.a), index(*syntax.b)};
  }

  /// Numbers that exceed 64 bits are errors with their place.
  IndexExprPtr index(const syntax::Index& node) {
    try {
      return resolved(node);
    } catch (const Overflow& overflow) {
      fail(node.place, overflow.what());
    }
  }

  IndexExprPtr resolved(const syntax::Index& node) {
    using Kind = syntax::Index::Kind;
    switch (node.kind) {
      case Kind::Number:
        return constant(node.number);
      case Kind::Name:
        return lookup(node);
      case Kind::Element:
        return element(node);
      case Kind::If:
        return chosen(node.choice, node.place) ? index(*node.a) : index(*node.b);
      case Kind::Exact:
        return exact_quotient(node);
      default:
        break;
    }
    IndexExprPtr a = index(*node.a), b = index(*node.b);
    switch (node.kind) {
      case Kind::Add:
        return combine(IndexKind::Add, a, b);
      case Kind::Sub:
        return combine(IndexKind::Sub, a, b);
      case Kind::Mul:
        return combine(IndexKind::Mul, a, b);
      case Kind::Min:
        return combine(IndexKind::Min, a, b);
      case Kind::Max:
        return combine(IndexKind::Max, a, b);
      default:
        break;
    }
    if (!positive(*b))
      fail(node.b->place, "this divisor may be zero: divide by sizes, positive numbers and their products");
    return combine(node.kind == Kind::Floor ? IndexKind::Div : IndexKind::Mod, a, b);
  }

  IndexExprPtr lookup(const syntax::Index& node) const {
    const auto found = names_.find(node.name);
    if (found != names_.end()) return found->second;
    if (packs_.contains(node.name))
      fail(node.place, "'" + node.name + "' is a pack: write " + node.name + "... or " + node.name + "[position]");
    fail(node.place, "'" + node.name + "' is no index, size or parameter here");
  }

  IndexExprPtr element(const syntax::Index& node) {
    const IndexExprPtr position = index(*node.a);
    if (position->kind != IndexKind::Constant)
      fail(node.place, "the position within '" + node.name + "' must be a number or a parameter");
    const auto found = position->value < 0
                           ? names_.end()
                           : names_.find(pack_element(node.name, static_cast<std::uint32_t>(position->value)));
    if (found == names_.end()) {
      if (!packs_.contains(node.name) && !names_.contains(pack_element(node.name, 0))) {
        fail(node.place, "'" + node.name + "' is no pack of indices or dimensions here");
      }
      fail(node.place, "position " + std::to_string(position->value) + " is outside '" + node.name + "'");
    }
    return found->second;
  }

  IndexExprPtr exact_quotient(const syntax::Index& node) {
    IndexExprPtr a = index(*node.a), b = index(*node.b);
    if (!positive(*b))
      fail(node.b->place, "this divisor may be zero: divide by sizes, positive numbers and their products");
    const bool folds = a->kind == IndexKind::Constant && b->kind == IndexKind::Constant && a->value % b->value == 0;
    const bool stated = std::ranges::any_of(instance_.conditions, [&](const Comparison& condition) {
      return condition.relation == Relation::Eq && is_constant(condition.b, 0) && condition.a->kind == IndexKind::Mod &&
             same(*condition.a->a, *a) && same(*condition.a->b, *b);
    });
    if (!folds && !stated && !is_constant(b, 1)) {
      fail(node.place, "this division may not divide: state 'where … % … = 0' for it, or use floor division '//'");
    }
    return combine(IndexKind::Div, a, b);
  }

  /// Positive for all sizes of at least 1, by its form. A quotient is positive where its dividend is a size that it
  /// divides.
  bool positive(const IndexExpr& expr) const {
    switch (expr.kind) {
      case IndexKind::Constant:
        return expr.value > 0;
      case IndexKind::Size:
        return true;
      case IndexKind::Add:
      case IndexKind::Mul:
      case IndexKind::Min:
        return positive(*expr.a) && positive(*expr.b);
      case IndexKind::Max:
        return positive(*expr.a) || positive(*expr.b);
      case IndexKind::Div:
        return positive(*expr.a) && std::ranges::any_of(instance_.conditions, [&](const Comparison& condition) {
                 return condition.relation == Relation::Eq && is_constant(condition.b, 0) &&
                        condition.a->kind == IndexKind::Mod && same(*condition.a->a, *expr.a) &&
                        same(*condition.a->b, *expr.b);
               });
      default:
        return false;
    }
  }

  std::vector<IndexExprPtr> entries(const std::vector<syntax::Entry>& list) {
    std::vector<IndexExprPtr> result;
    for (const syntax::Entry& entry : list) {
      const std::vector<IndexExprPtr> part = entry_values(entry);
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  }

  std::vector<IndexExprPtr> entry_values(const syntax::Entry& entry) {
    if (entry.single) return {index(*entry.single)};
    std::vector<IndexExprPtr> elements;
    for (std::uint32_t k = 0;; ++k) {
      const auto found = names_.find(pack_element(entry.pack, k));
      if (found == names_.end()) break;
      elements.push_back(found->second);
    }
    if (elements.empty() && !packs_.contains(entry.pack) && !index_packs_.contains(entry.pack)) {
      fail(entry.place, "'" + entry.pack + "' is no pack of indices or dimensions here");
    }
    if (!entry.with.empty()) {
      const std::uint32_t at = axis(entry.with, entry.place);
      if (at >= elements.size()) fail(entry.place, "axis " + std::to_string(at) + " is outside '" + entry.pack + "'");
      elements[at] = index(*entry.change);
    }
    const std::string& order = entry.gather.empty() ? entry.scatter : entry.gather;
    if (order.empty()) return elements;
    const auto& permuted = permutation(order, entry.place);
    if (permuted.size() != elements.size())
      fail(entry.place, "permutation '" + order + "' and '" + entry.pack + "' differ in length");
    std::vector<IndexExprPtr> result(elements.size());
    for (std::size_t k = 0; k < elements.size(); ++k) {
      const auto target = static_cast<std::size_t>(permuted[k]);
      if (entry.gather.empty())
        result[target] = elements[k];
      else
        result[k] = elements[target];
    }
    return result;
  }

  // ---- tensors ----

  TensorDefinition tensor_definition(const syntax::Tensor& syntax) {
    TensorDefinition tensor;
    tensor.name = syntax.name;
    const auto outer_names = names_;
    const auto outer_packs = index_packs_;
    std::vector<std::string> introduced;
    for (const syntax::OutputIndex& output_index : syntax.indices) {
      const std::vector<IndexExprPtr> extents = entry_values(output_index.extent);
      if (!output_index.is_pack && extents.size() != 1) {
        fail(output_index.place,
             "'" + output_index.name + "' is one index, its extent a pack: write " + output_index.name + "...");
      }
      if (output_index.is_pack) index_packs_.insert(output_index.name);
      for (std::uint32_t k = 0; k < extents.size(); ++k) {
        tensor.dims.push_back(extents[k]);
        introduced.push_back(output_index.is_pack ? pack_element(output_index.name, k) : output_index.name);
      }
    }
    next_index_ = 0;
    extents_.clear();
    for (std::size_t d = 0; d < introduced.size(); ++d) define(introduced[d], new_index(tensor.dims[d]), syntax.place);
    tensor.body = scalar(*syntax.body);
    names_ = outer_names;
    index_packs_ = outer_packs;
    return tensor;
  }

  IndexExprPtr new_index(IndexExprPtr extent) {
    extents_.push_back(std::move(extent));
    instance_.index_slots = std::max(instance_.index_slots, next_index_ + 1);
    return slot_reference(IndexKind::Index, next_index_++);
  }

  ScalarExprPtr scalar(const syntax::Scalar& node) {
    using Kind = syntax::Scalar::Kind;
    ScalarExpr expr;
    switch (node.kind) {
      case Kind::Number:
        expr.value = node.number;
        break;
      case Kind::Read:
        return read(node);
      case Kind::Add:
      case Kind::Mul:
        expr.kind = node.kind == Kind::Add ? ScalarExpr::Kind::Add : ScalarExpr::Kind::Mul;
        for (const auto& operand : node.operands) expr.operands.push_back(scalar(*operand));
        break;
      case Kind::Sub: {
        expr.kind = ScalarExpr::Kind::Add;
        ScalarExpr minus_one, negated;
        minus_one.value = {-1, 1};
        negated.kind = ScalarExpr::Kind::Mul;
        negated.operands = {std::make_shared<ScalarExpr>(minus_one), scalar(*node.operands[1])};
        expr.operands = {scalar(*node.operands[0]), std::make_shared<ScalarExpr>(negated)};
        break;
      }
      case Kind::DivideBySize: {
        const IndexExprPtr divisor = index(*node.divisor);
        if (!positive(*divisor))
          fail(node.divisor->place, "this divisor may be zero: divide by sizes, positive numbers and their products");
        ScalarExpr inverse;
        if (divisor->kind == IndexKind::Constant) {
          inverse.value = make_rational(1, divisor->value);
        } else {
          inverse.kind = ScalarExpr::Kind::InverseSize;
          inverse.indices = {divisor};
        }
        ScalarExprPtr dividend = scalar(*node.operands[0]);
        if (dividend->kind == ScalarExpr::Kind::Constant && inverse.kind == ScalarExpr::Kind::Constant) {
          try {
            expr.value = dividend->value * inverse.value;
          } catch (const Overflow& overflow) {
            fail(node.place, overflow.what());
          }
          break;
        }
        expr.kind = ScalarExpr::Kind::Mul;
        expr.operands = {dividend, std::make_shared<ScalarExpr>(inverse)};
        break;
      }
      case Kind::Sum:
      case Kind::Max:
        return reduction(node);
      case Kind::Apply:
        return application(node);
      case Kind::Case:
        expr.kind = ScalarExpr::Kind::Case;
        for (const syntax::Comparison& guard : node.guard) expr.guard.push_back(comparison(guard));
        for (const auto& operand : node.operands) expr.operands.push_back(scalar(*operand));
        break;
    }
    return std::make_shared<ScalarExpr>(std::move(expr));
  }

  ScalarExprPtr read(const syntax::Scalar& node) {
    ScalarExpr expr;
    expr.kind = ScalarExpr::Kind::Read;
    const auto found = std::ranges::find(tensor_names_, node.name);
    if (found == tensor_names_.end())
      fail(node.place, "'" + node.name + "' is no input or tensor of operator '" + op_.name + "'");
    expr.tensor = static_cast<std::uint32_t>(found - tensor_names_.begin());
    expr.indices = entries(node.indices);
    if (expr.indices.size() != tensor_ranks_[expr.tensor]) {
      fail(node.place, "'" + node.name + "' has " + std::to_string(tensor_ranks_[expr.tensor]) +
                           " dimensions, read with " + std::to_string(expr.indices.size()) + " indices");
    }
    return std::make_shared<ScalarExpr>(std::move(expr));
  }

  /// A bound that depends on an index becomes the largest that it can be, and a condition: p < j + 1 for j < n is p < n
  /// where p < j + 1.
  ScalarExprPtr reduction(const syntax::Scalar& node) {
    ScalarExpr expr;
    expr.kind = node.kind == syntax::Scalar::Kind::Sum ? ScalarExpr::Kind::Sum : ScalarExpr::Kind::Max;
    const auto outer = names_;
    std::vector<Comparison> within;
    for (const syntax::Binding& binding : node.bound) {
      const IndexExprPtr extent = index(*binding.extent);
      const IndexExprPtr widest = has_index(*extent) ? range(*extent, binding.extent->place).high : extent;
      const IndexExprPtr slot = new_index(widest);
      define(binding.name, slot, binding.place);
      expr.bound.push_back({slot->slot, widest});
      if (widest != extent) within.push_back({Relation::Lt, slot, extent});
    }
    for (const syntax::Comparison& guard : node.guard) expr.guard.push_back(comparison(guard));
    expr.operands = {scalar(*node.operands[0])};
    names_ = outer;
    if (within.empty()) return std::make_shared<ScalarExpr>(std::move(expr));
    if (expr.kind == ScalarExpr::Kind::Max) {
      expr.guard.insert(expr.guard.end(), within.begin(), within.end());
    } else {
      ScalarExpr inside;
      inside.kind = ScalarExpr::Kind::Case;
      inside.guard = std::move(within);
      inside.operands = {expr.operands[0], std::make_shared<ScalarExpr>()};
      expr.operands = {std::make_shared<ScalarExpr>(std::move(inside))};
    }
    return std::make_shared<ScalarExpr>(std::move(expr));
  }

  /// The least and the largest that an expression can be where every index is in its range.
  struct Range {
    IndexExprPtr low, high;
  };

  Range range(const IndexExpr& expr, syntax::Place at) const {
    if (!has_index(expr)) {
      const auto same = std::make_shared<IndexExpr>(expr);
      return {same, same};
    }
    if (expr.kind == IndexKind::Index) return {constant(0), combine(IndexKind::Sub, extents_[expr.slot], constant(1))};
    const Range a = range(*expr.a, at), b = range(*expr.b, at);
    const bool fixed_a = !has_index(*expr.a), fixed_b = !has_index(*expr.b);
    switch (expr.kind) {
      case IndexKind::Add:
      case IndexKind::Min:
      case IndexKind::Max:
        return {combine(expr.kind, a.low, b.low), combine(expr.kind, a.high, b.high)};
      case IndexKind::Sub:
        return {combine(expr.kind, a.low, b.high), combine(expr.kind, a.high, b.low)};
      case IndexKind::Mul: {
        const IndexExpr& factor = fixed_a ? *expr.a : *expr.b;
        const Range& other = fixed_a ? b : a;
        const IndexExprPtr by = std::make_shared<IndexExpr>(factor);
        const bool falls = factor.kind == IndexKind::Constant && factor.value < 0;
        if ((!fixed_a && !fixed_b) || (!falls && !positive(factor) && !is_constant(by, 0))) break;
        const IndexExprPtr low = combine(IndexKind::Mul, other.low, by), high = combine(IndexKind::Mul, other.high, by);
        return falls ? Range{high, low} : Range{low, high};
      }
      case IndexKind::Div:
        if (!fixed_b) break;
        return {combine(IndexKind::Div, a.low, b.low), combine(IndexKind::Div, a.high, b.low)};
      case IndexKind::Mod:
        return {constant(0), combine(IndexKind::Sub, b.high, constant(1))};
      default:
        break;
    }
    fail(at, "the largest value of this bound is not known: indices may be added, and multiplied or divided by sizes");
  }

  /// f(…) of a function, or of a parameter whose word names one; the word 'none' is the identity.
  ScalarExprPtr application(const syntax::Scalar& node) {
    std::string name = node.name;
    if (const syntax::Parameter* declared = op_.parameter(name)) {
      const auto* word = std::get_if<std::string>(&parameter(name, node.place));
      if (!word) fail(node.place, "parameter '" + name + "' is applied like a function but is none");
      name = *word;
      if (name == "none") {
        if (node.operands.size() != 1) fail(node.place, "'" + declared->name + "' takes one argument");
        return scalar(*node.operands[0]);
      }
    }
    ScalarExpr expr;
    expr.kind = ScalarExpr::Kind::Apply;
    const Function* function = context_.function(name, &expr.function);
    if (!function) fail(node.place, "'" + name + "' is no scalar function");
    if (function->arity != node.operands.size()) {
      fail(node.place, "function '" + name + "' takes " + std::to_string(function->arity) + " arguments, found " +
                           std::to_string(node.operands.size()));
    }
    for (const auto& operand : node.operands) expr.operands.push_back(scalar(*operand));
    return std::make_shared<ScalarExpr>(std::move(expr));
  }

  // ---- composites ----

  struct Inlined {
    std::uint32_t number;  // as CompositeStep::arguments count
    std::uint32_t tensor;  // as Read::tensor counts
    std::vector<IndexExprPtr> dims;
  };

  void inline_composite() {
    const Inlined result = inline_call(*op_.composite);
    TensorDefinition last = instance_.intermediates.back();
    if (op_.composite->is_input || result.tensor + 1 != tensor_names_.size())
      fail(op_.place, "a composite must end in a call");
    instance_.intermediates.pop_back();
    instance_.outputs.push_back(std::move(last));
  }

  Inlined inline_call(const syntax::Call& call) {
    if (call.is_input) {
      for (std::uint32_t i = 0; i < op_.inputs.size(); ++i) {
        if (op_.inputs[i].name == call.name) return {i, i, instance_.inputs[i]};
      }
      fail(call.place, "'" + call.name + "' is no input of operator '" + op_.name + "'");
    }
    std::vector<Inlined> arguments;
    std::vector<std::uint32_t> ranks;
    for (const auto& argument : call.arguments) {
      arguments.push_back(inline_call(*argument));
      ranks.push_back(static_cast<std::uint32_t>(arguments.back().dims.size()));
    }
    const syntax::Operator* inner_syntax = context_.find(call.name);
    if (!inner_syntax) fail(call.place, "'" + call.name + "' is no operator that stands before '" + op_.name + "'");
    Parameters parameters;
    std::map<std::string, IndexExprPtr> given_sizes;
    for (const auto& [name, value] : call.parameters) {
      const syntax::Parameter* declared = inner_syntax->parameter(name);
      if (!declared) fail(value->place, "operator '" + call.name + "' has no parameter '" + name + "'");
      if (declared->kind == syntax::Parameter::Kind::Size) {
        given_sizes[name] = index(*value);
      } else if (value->kind == syntax::Index::Kind::Name && instance_.parameters.contains(value->name)) {
        parameters[name] = instance_.parameters.at(value->name);
      } else if (value->kind == syntax::Index::Kind::Name && declared->kind == syntax::Parameter::Kind::Words) {
        parameters[name] = value->name;
      } else {
        const IndexExprPtr number = index(*value);
        if (number->kind != IndexKind::Constant) fail(value->place, "parameter '" + name + "' must be a number");
        parameters[name] = number->value;
      }
    }
    const Instance& inner = context_.instantiate(call.name, parameters, ranks);
    try {
      return inline_instance(inner, arguments, given_sizes, call.place);
    } catch (const Overflow& overflow) {
      fail(call.place, overflow.what());
    }
  }

  Inlined inline_instance(const Instance& inner, const std::vector<Inlined>& arguments,
                          const std::map<std::string, IndexExprPtr>& given_sizes, syntax::Place at) {
    std::vector<IndexExprPtr> sizes(inner.size_names.size());
    if (instance_.intermediates.size() + inner.intermediates.size() >= most_steps) {
      fail(at, "a composite of more than " + std::to_string(most_steps) + " tensors");
    }
    CompositeStep step;
    step.instance = inner.id;
    std::vector<std::uint32_t> tensors;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      step.arguments.push_back(arguments[i].number);
      tensors.push_back(arguments[i].tensor);
      for (std::size_t d = 0; d < arguments[i].dims.size(); ++d) {
        const IndexExpr& expected = *inner.inputs[i][d];
        const IndexExprPtr& actual = arguments[i].dims[d];
        if (expected.kind == IndexKind::Size && !sizes[expected.slot]) {
          sizes[expected.slot] = actual;
        } else if (const IndexExprPtr known =
                       expected.kind == IndexKind::Size ? sizes[expected.slot] : inner.inputs[i][d];
                   !same(*known, *actual)) {
          instance_.conditions.push_back({Relation::Eq, known, actual});
        }
      }
    }
    for (std::uint32_t slot = inner.first_size_parameter; slot < inner.size_names.size(); ++slot) {
      const auto given = given_sizes.find(inner.size_names[slot]);
      if (given == given_sizes.end())
        fail(at, "size '" + inner.size_names[slot] + "' of '" + inner.operator_name + "' is not given");
      sizes[slot] = given->second;
      step.sizes.push_back(given->second);
    }
    for (const Comparison& condition : inner.conditions)
      instance_.conditions.push_back(replace_sizes(condition, sizes));
    Inlined result;
    auto add = [&](const TensorDefinition& definition) {
      TensorDefinition copy = definition;
      for (IndexExprPtr& dim : copy.dims) dim = replace_sizes(dim, sizes);
      copy.body = replace(copy.body, sizes, tensors);
      result = {0, static_cast<std::uint32_t>(tensor_names_.size()), copy.dims};
      tensors.push_back(result.tensor);
      tensor_names_.push_back("#" + std::to_string(result.tensor));
      tensor_ranks_.push_back(static_cast<std::uint32_t>(copy.dims.size()));
      instance_.intermediates.push_back(std::move(copy));
    };
    for (const TensorDefinition& intermediate : inner.intermediates) add(intermediate);
    add(inner.outputs.at(0));
    instance_.index_slots = std::max(instance_.index_slots, inner.index_slots);
    result.number = static_cast<std::uint32_t>(op_.inputs.size() + instance_.composite.size());
    instance_.composite.push_back(std::move(step));
    return result;
  }

  // ---- ONNX ----

  OnnxValue onnx_value(const syntax::OnnxEntry& entry, syntax::Place at) {
    OnnxValue value;
    value.is_list = entry.is_list;
    value.word = entry.word;
    value.number = entry.number;
    if (!entry.is_list && entry.values.size() == 1 && entry.values[0].single &&
        entry.values[0].single->kind == syntax::Index::Kind::Name) {
      const auto named = instance_.parameters.find(entry.values[0].single->name);
      if (named != instance_.parameters.end()) {
        if (const auto* list = std::get_if<std::vector<std::int64_t>>(&named->second)) {
          value.is_list = true;
          for (std::int64_t element : *list) value.values.push_back(constant(element));
          return value;
        }
        if (const auto* word = std::get_if<std::string>(&named->second)) {
          value.word = *word;
          return value;
        }
      }
    }
    value.values = entries(entry.values);
    if (!value.is_list && !value.word && !value.number && value.values.size() != 1) fail(at, "expected one value");
    return value;
  }

  void expand_onnx(const syntax::OnnxSyntax& syntax) {
    if (syntax.choice && !chosen(*syntax.choice, syntax.place)) return;
    OnnxMapping mapping;
    mapping.op_type = syntax.op_type;
    mapping.since = syntax.since;
    mapping.until = syntax.until;
    mapping.variadic = syntax.variadic;
    if (!syntax.wrapper.empty()) {
      const auto* word = std::get_if<std::string>(&parameter(syntax.wrapper, syntax.place));
      if (!word) fail(syntax.place, "'" + syntax.wrapper + "' does not name a function");
      if (*word != "none") {
        std::uint32_t unused = 0;
        const Function* function = context_.function(*word, &unused);
        if (!function || function->onnx.empty()) return;  // this instance has no ONNX form
        mapping.wrapper = function->onnx;
      }
    }
    for (const auto& [name, entry] : syntax.inputs) {
      OnnxInput input;
      if (name.empty()) {
        input.constant = onnx_value(entry, syntax.place);
      } else {
        const auto found = std::ranges::find(instance_.input_names, name);
        if (found == instance_.input_names.end())
          fail(syntax.place, "'" + name + "' is no input of operator '" + op_.name + "'");
        input.argument = static_cast<std::uint32_t>(found - instance_.input_names.begin());
      }
      mapping.inputs.push_back(std::move(input));
    }
    if (syntax.inputs.empty()) {
      for (std::uint32_t i = 0; i < instance_.input_names.size(); ++i) mapping.inputs.push_back({i, {}});
    }
    for (const syntax::OnnxAttributeSyntax& attribute : syntax.attributes) {
      const OnnxValue value = attribute.ignored ? OnnxValue{} : onnx_value(attribute.value, syntax.place);
      mapping.attributes.push_back(
          {attribute.name, value, attribute.absent, attribute.absent_word, attribute.absent_any, attribute.ignored});
    }
    instance_.onnx.push_back(std::move(mapping));
  }

  void name_instance(std::span<const std::uint32_t> ranks) {
    std::string text = op_.name;
    if (!instance_.parameters.empty()) {
      text += "{";
      for (const auto& [name, value] : instance_.parameters)
        text += (text.back() == '{' ? "" : ",") + name + "=" + to_string(value);
      text += "}";
    }
    if (!packs_.empty()) {
      for (std::size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "/" : ",") + std::to_string(ranks[i]);
    }
    instance_.name = text;
  }

  const syntax::Operator& op_;
  const ExpansionContext& context_;
  Instance instance_;
  std::map<std::string, std::uint32_t> packs_;
  std::set<std::string> index_packs_;
  std::map<std::string, std::string> aliases_;
  std::map<std::string, IndexExprPtr> names_;  // sizes, indices, lets, integer parameters; pack elements as "d#0"
  std::vector<std::string> tensor_names_;
  std::vector<std::uint32_t> tensor_ranks_;
  std::uint32_t rank_ = 0;
  std::uint32_t next_index_ = 0;
  std::vector<IndexExprPtr> extents_;  // by index slot
};

}  // namespace

std::optional<std::map<std::string, std::uint32_t>> pack_lengths(const syntax::Operator& op,
                                                                 std::span<const std::uint32_t> ranks) {
  std::map<std::string, std::uint32_t> packs;
  for (const syntax::Parameter& parameter : op.parameters) {
    if (parameter.kind != syntax::Parameter::Kind::Sizes) continue;
    if (ranks.size() != 1 || !op.inputs.empty()) return std::nullopt;
    packs[parameter.name] = ranks[0];
    return packs;
  }
  if (ranks.size() != op.inputs.size()) return std::nullopt;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::uint32_t fixed = 0;
    std::string pack;
    for (const syntax::InputDim& dim : op.inputs[i].dims) {
      if (!dim.is_pack)
        ++fixed;
      else if (pack.empty())
        pack = dim.name;
      else
        return std::nullopt;
    }
    if (pack.empty() ? ranks[i] != fixed : ranks[i] < fixed) return std::nullopt;
    if (pack.empty()) continue;
    const auto [at, fresh] = packs.emplace(pack, ranks[i] - fixed);
    if (!fresh && at->second != ranks[i] - fixed) return std::nullopt;
  }
  for (const syntax::Condition& condition : op.conditions) {
    if (condition.except_left.empty()) continue;
    const auto left = packs.find(condition.except_left), right = packs.find(condition.except_right);
    if (left != packs.end() && right != packs.end() && left->second != right->second) return std::nullopt;
  }
  return packs;
}

Instance expand(const syntax::Operator& op, const Parameters& parameters, std::span<const std::uint32_t> ranks,
                const ExpansionContext& context) {
  return Expander(op, parameters, context).expand(ranks);
}

}  // namespace rulemill::algebra
