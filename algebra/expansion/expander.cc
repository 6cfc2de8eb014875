// Expands names, inputs and sizes of an operator at fixed ranks and parameters.
#include "algebra/expansion/expander.h"

#include <algorithm>

#include "algebra/expansion/pack_lengths.h"

namespace rulemill::algebra {

Expander::Expander(const syntax::Operator& op, const Parameters& parameters, const ExpansionContext& context)
    : op_(op), context_(context) {
  instance_.operator_name = op.name;
  instance_.parameters = parameters;
  // An operator is not commutative if its inputs are broadcast differently.
  const ParameterValue* first = nullptr;
  bool same_spread = true;
  for (const syntax::Parameter& declared : op.parameters) {
    if (declared.kind != syntax::Parameter::Kind::Spread) continue;
    const ParameterValue& value = parameters.at(declared.name);
    same_spread = same_spread && (first == nullptr || *first == value);
    first = &value;
  }
  instance_.commutative = op.commutative && same_spread;
}

OperatorInstance Expander::expand(std::span<const std::uint32_t> ranks) {
  packs_ = *pack_lengths(op_, ranks, instance_.parameters);
  rank_ = ranks.empty() ? 0 : ranks[0];
  alias_equal_dimensions();
  bind_inputs();
  bind_size_parameters();
  // In the order of the text: conditions use names, and divisions use conditions, that precede them.
  auto let = op_.lets.begin();
  for (const syntax::Condition& condition : op_.conditions) {
    const auto position = [](const auto& part) { return std::pair(part.place.line, part.place.column); };
    for (; let != op_.lets.end() && position(*let) < position(condition); ++let) bind_let(*let);
    expand_condition(condition);
  }
  for (; let != op_.lets.end(); ++let) bind_let(*let);
  for (const syntax::Tensor& tensor : op_.tensors) {
    instance_.intermediates.push_back(expand_tensor(tensor));
    tensor_names_.push_back(tensor.name);
    tensor_ranks_.push_back(static_cast<std::uint32_t>(instance_.intermediates.back().dims.size()));
  }
  if (op_.composite) inline_composite();
  for (const syntax::Tensor& output : op_.outputs) instance_.outputs.push_back(expand_tensor(output));
  // No ONNX node has a symbolic parameter.
  for (const syntax::OnnxMappingSyntax& onnx : op_.onnx) {
    if (instance_.symbolic_parameters.empty()) expand_onnx_mapping(onnx);
  }
  name_instance(ranks);
  return std::move(instance_);
}

void Expander::fail(syntax::Place at, const std::string& message) const {
  throw runtime::InputError(place(op_.origin, at.line, at.column), message);
}

std::string Expander::element_name(const std::string& pack, std::uint32_t position) const {
  return pack + "#" + std::to_string(position);
}

void Expander::define(const std::string& name, IndexExprPtr value, syntax::Place at) {
  if (names_.contains(name)) fail(at, "'" + name + "' is already defined here");
  names_[name] = std::move(value);
}

const ParameterValue& Expander::parameter(const std::string& name, syntax::Place at) const {
  const auto found = instance_.parameters.find(name);
  if (found == instance_.parameters.end()) fail(at, "operator '" + op_.name + "' has no parameter '" + name + "'");
  return found->second;
}

std::uint32_t Expander::axis(const std::string& name, syntax::Place at) const {
  const auto* value = std::get_if<std::int64_t>(&parameter(name, at));
  if (!value || *value < 0) fail(at, "'" + name + "' is not an axis");
  return static_cast<std::uint32_t>(*value);
}

const std::vector<std::int64_t>& Expander::list_parameter(const std::string& name, syntax::Place at) const {
  const auto* value = std::get_if<std::vector<std::int64_t>>(&parameter(name, at));
  if (!value) fail(at, "'" + name + "' is not a list of numbers");
  return *value;
}

bool Expander::holds(const syntax::ParameterPredicate& predicate, syntax::Place at) const {
  if (predicate.parameter == "rank") return std::to_string(rank_) == predicate.value;
  const ParameterValue& value = parameter(predicate.parameter, at);
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    if (!std::ranges::all_of(predicate.value, [](char c) { return c >= '0' && c <= '9'; }))
      fail(at, "'" + predicate.value + "' is not a value of '" + predicate.parameter + "'");
    return std::to_string(*number) == predicate.value;
  }
  if (std::holds_alternative<Symbolic>(value))
    fail(at, "'" + predicate.parameter + "' is symbolic here, but the definition depends on its value");
  const auto* enum_value = std::get_if<std::string>(&value);
  if (!enum_value) fail(at, "'" + predicate.parameter + "' is neither an enum nor an integer parameter");
  const syntax::Parameter* declared = op_.parameter(predicate.parameter);
  if (declared && std::ranges::find(declared->enum_values, predicate.value) == declared->enum_values.end())
    fail(at, "'" + predicate.value + "' is not a value of '" + predicate.parameter + "'");
  return *enum_value == predicate.value;
}

void Expander::alias_equal_dimensions() {
  for (const syntax::Condition& condition : op_.conditions) {
    if (condition.except_left.empty()) continue;
    const auto left = packs_.find(condition.except_left), right = packs_.find(condition.except_right);
    if (left == packs_.end() || right == packs_.end())
      fail(condition.place, "'except' compares two packs of dimensions");
    const std::uint32_t free_axis = axis(condition.except_axis, condition.place);
    for (std::uint32_t k = 0; k < left->second; ++k) {
      if (k != free_axis) aliases_[element_name(right->first, k)] = element_name(left->first, k);
    }
  }
}

IndexExprPtr Expander::size_slot(const std::string& name) {
  const auto alias = aliases_.find(name);
  const std::string& key = alias == aliases_.end() ? name : alias->second;
  if (const auto known = names_.find(key); known != names_.end()) {
    names_[name] = known->second;
    return known->second;
  }
  IndexExprPtr slot = make_slot(IndexKind::Size, static_cast<std::uint32_t>(instance_.size_names.size()));
  std::string display_name = key;
  std::erase(display_name, '#');
  instance_.size_names.push_back(display_name);
  names_[key] = slot;
  names_[name] = slot;
  return slot;
}

void Expander::bind_inputs() {
  for (const syntax::Input& input : op_.inputs) {
    if (std::ranges::find(tensor_names_, input.name) != tensor_names_.end())
      fail(input.place, "two inputs are called '" + input.name + "'");
    auto& dims = instance_.inputs.emplace_back();
    spreads_.emplace_back();
    pack_starts_.push_back(0);
    for (const syntax::InputDim& dim : input.dims) {
      if (dim.name.empty()) {
        dims.push_back(make_constant(dim.number));
      } else if (!dim.is_pack) {
        dims.push_back(size_slot(dim.name));
      } else {
        pack_starts_.back() = static_cast<std::uint32_t>(dims.size());
        const std::vector<IndexExprPtr> pack = bind_pack(dim);
        dims.insert(dims.end(), pack.begin(), pack.end());
      }
    }
    instance_.input_names.push_back(input.name);
    instance_.input_scalar_kinds.push_back(input.scalar_kind);
    tensor_names_.push_back(input.name);
    tensor_ranks_.push_back(static_cast<std::uint32_t>(dims.size()));
  }
  instance_.first_size_parameter = static_cast<std::uint32_t>(instance_.size_names.size());
  for (const auto& [pack, length] : packs_) {
    const bool is_parameter = op_.parameter(pack) != nullptr;
    for (std::uint32_t k = 0; !is_parameter && k < length; ++k) {
      if (!names_.contains(element_name(pack, k)))
        fail(op_.place, "every input broadcasts dimension " + std::to_string(k) + " of '" + pack + "'");
    }
  }
}

/// The dimensions of an input's pack: all of them, or as its spread says.
std::vector<IndexExprPtr> Expander::bind_pack(const syntax::InputDim& dim) {
  std::vector<IndexExprPtr> dims;
  if (!dim.spread.empty()) spreads_.back() = list_parameter(dim.spread, dim.place);
  const std::vector<std::int64_t>& spread = spreads_.back();
  for (std::uint32_t k = 0; k < packs_.at(dim.name); ++k) {
    const std::int64_t extent_kind = spread.empty() ? spread_whole : spread[k];
    if (extent_kind == spread_whole) dims.push_back(size_slot(element_name(dim.name, k)));
    if (extent_kind == spread_one) dims.push_back(make_constant(1));
  }
  return dims;
}

void Expander::bind_size_parameters() {
  using Kind = syntax::Parameter::Kind;
  for (const syntax::Parameter& declared : op_.parameters) {
    if (declared.kind == Kind::Size) {
      if (names_.contains(declared.name)) fail(declared.place, "'" + declared.name + "' already names a dimension");
      size_slot(declared.name);
    } else if (declared.kind == Kind::Sizes) {
      for (std::uint32_t k = 0; k < packs_.at(declared.name); ++k) size_slot(element_name(declared.name, k));
    } else if (std::holds_alternative<Symbolic>(parameter(declared.name, declared.place))) {
      continue;
    } else if (declared.kind == Kind::Ints) {
      const std::vector<std::int64_t>& values = list_parameter(declared.name, declared.place);
      for (std::uint32_t k = 0; k < values.size(); ++k)
        define(element_name(declared.name, k), make_constant(values[k]), declared.place);
      lists_[declared.name] = static_cast<std::uint32_t>(values.size());
    } else if (const auto* value = std::get_if<std::int64_t>(&parameter(declared.name, declared.place))) {
      define(declared.name, make_constant(*value), declared.place);
    }
  }
  bind_symbolic_parameters();
  if (!names_.contains("rank")) names_["rank"] = make_constant(rank_);
}

/// Symbolic parameters follow the declared sizes.
void Expander::bind_symbolic_parameters() {
  for (const syntax::Parameter& declared : op_.parameters) {
    const auto value = instance_.parameters.find(declared.name);
    if (value == instance_.parameters.end() || !std::holds_alternative<Symbolic>(value->second)) continue;
    if (names_.contains(declared.name)) fail(declared.place, "'" + declared.name + "' already names a dimension");
    SymbolicParameter symbolic{declared.name, instance_.size_parameter_count(), 1, declared.kind == ParameterKind::Ints,
                               std::get<Symbolic>(value->second).min_value};
    const auto bind = [&](const std::string& name) {
      IndexExprPtr size = size_slot(name);
      if (symbolic.min_value == 0) names_[name] = combine(IndexKind::Sub, size, make_constant(1));
    };
    if (symbolic.is_list) {
      symbolic.count = packs_.at(declared.pack);
      for (std::uint32_t k = 0; k < symbolic.count; ++k) bind(element_name(declared.name, k));
      lists_[declared.name] = symbolic.count;
    } else {
      bind(declared.name);
    }
    instance_.symbolic_parameters.push_back(symbolic);
  }
}

void Expander::bind_let(const syntax::Let& let) {
  const std::vector<IndexExprPtr> values = expand_item(let.value);
  for (const IndexExprPtr& value : values) {
    std::size_t budget = max_expression_nodes;
    if (!is_within_budget(*value, budget))
      fail(let.value.place, "'" + let.name + "' is an expression of too many terms");
  }
  const bool is_list = let.value.expression == nullptr || pack_length(*let.value.expression);
  if (is_list && !let.is_pack)
    fail(let.place, "'" + let.name + "' is one name, its value a list: write " + let.name + "...");
  if (!let.is_pack) return define(let.name, values[0], let.value.place);
  for (std::uint32_t k = 0; k < values.size(); ++k) define(element_name(let.name, k), values[k], let.value.place);
  lists_[let.name] = static_cast<std::uint32_t>(values.size());
}

void Expander::expand_condition(const syntax::Condition& condition) {
  if (!condition.except_left.empty()) return;
  if (condition.predicate && !holds(*condition.predicate, condition.place)) return;
  for (Comparison& comparison : expand_comparison(condition.comparison))
    instance_.conditions.push_back(std::move(comparison));
}

void Expander::name_instance(std::span<const std::uint32_t> ranks) {
  std::string text = op_.name;
  if (!instance_.parameters.empty()) {
    text += "{";
    for (const auto& [name, value] : instance_.parameters) {
      const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
      if (list == nullptr || !list->empty()) text += (text.back() == '{' ? "" : ",") + name + "=" + to_string(value);
    }
    text += "}";
    if (text.ends_with("{}")) text.resize(text.size() - 2);
  }
  if (!packs_.empty()) {
    for (std::size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "/" : ",") + std::to_string(ranks[i]);
  }
  instance_.name = text;
}

OperatorInstance expand(const syntax::Operator& op, const Parameters& parameters, std::span<const std::uint32_t> ranks,
                        const ExpansionContext& context) {
  return Expander(op, parameters, context).expand(ranks);
}

}  // namespace rulemill::algebra
