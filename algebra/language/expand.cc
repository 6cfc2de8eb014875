// Names, inputs and sizes of an operator at fixed ranks and parameters.
#include "algebra/language/expander.h"

namespace rulemill::algebra {

Expander::Expander(const syntax::Operator& op, const Parameters& parameters, const ExpansionContext& context)
    : op_(op), context_(context) {
  instance_.operator_name = op.name;
  instance_.parameters = parameters;
  // With its inputs repeated differently, an operator is not commutative.
  const ParameterValue* first = nullptr;
  bool alike = true;
  for (const syntax::Parameter& declared : op.parameters) {
    if (declared.kind != syntax::Parameter::Kind::Spread) continue;
    const ParameterValue& value = parameters.at(declared.name);
    alike = alike && (first == nullptr || *first == value);
    first = &value;
  }
  instance_.commutative = op.commutative && alike;
}

namespace {

bool before(syntax::Place a, syntax::Place b) { return a.line < b.line || (a.line == b.line && a.column < b.column); }

}  // namespace

Instance Expander::expand(std::span<const std::uint32_t> ranks) {
  packs_ = *pack_lengths(op_, ranks, instance_.parameters);
  rank_ = ranks.empty() ? 0 : ranks[0];
  alias_excepted_dimensions();
  bind_inputs();
  bind_size_parameters();
  // In the order of the text: a condition may use what stands before it, a division what is stated before it.
  auto let = op_.lets.begin();
  for (const syntax::Condition& condition : op_.conditions) {
    for (; let != op_.lets.end() && before(let->place, condition.place); ++let) bind_let(*let);
    expand_condition(condition);
  }
  for (; let != op_.lets.end(); ++let) bind_let(*let);
  for (const syntax::Tensor& tensor : op_.tensors) {
    instance_.intermediates.push_back(tensor_definition(tensor));
    tensor_names_.push_back(tensor.name);
    tensor_ranks_.push_back(static_cast<std::uint32_t>(instance_.intermediates.back().dims.size()));
  }
  if (op_.composite) inline_composite();
  for (const syntax::Tensor& output : op_.outputs) instance_.outputs.push_back(tensor_definition(output));
  // No model has a node of an open instance.
  for (const syntax::OnnxSyntax& onnx : op_.onnx) {
    if (instance_.open.empty()) expand_onnx(onnx);
  }
  name_instance(ranks);
  return std::move(instance_);
}

void Expander::fail(syntax::Place at, const std::string& message) const {
  throw runtime::InputError(place(op_.origin, at.line, at.column), message);
}

std::string Expander::pack_element(const std::string& pack, std::uint32_t position) const {
  return pack + "#" + std::to_string(position);
}

void Expander::define(const std::string& name, IndexExprPtr value, syntax::Place at) {
  if (names_.contains(name)) fail(at, "'" + name + "' already has a meaning here");
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

const std::vector<std::int64_t>& Expander::permutation(const std::string& name, syntax::Place at) const {
  const auto* value = std::get_if<std::vector<std::int64_t>>(&parameter(name, at));
  if (!value) fail(at, "'" + name + "' is not a permutation");
  return *value;
}

bool Expander::chosen(const syntax::Choice& choice, syntax::Place at) const {
  const ParameterValue& value = parameter(choice.parameter, at);
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    if (!std::ranges::all_of(choice.word, [](char c) { return c >= '0' && c <= '9'; }))
      fail(at, "'" + choice.word + "' is not a value of '" + choice.parameter + "'");
    return std::to_string(*number) == choice.word;
  }
  if (std::holds_alternative<Open>(value))
    fail(at, "'" + choice.parameter + "' is open here, and the definition chooses by its number");
  const auto* word = std::get_if<std::string>(&value);
  if (!word) fail(at, "'" + choice.parameter + "' does not range over words or numbers");
  const syntax::Parameter* declared = op_.parameter(choice.parameter);
  if (declared && std::ranges::find(declared->words, choice.word) == declared->words.end()) {
    fail(at, "'" + choice.word + "' is not a value of '" + choice.parameter + "'");
  }
  return *word == choice.word;
}

void Expander::alias_excepted_dimensions() {
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

IndexExprPtr Expander::size_named(const std::string& name) {
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

void Expander::bind_inputs() {
  for (const syntax::Input& input : op_.inputs) {
    if (std::ranges::find(tensor_names_, input.name) != tensor_names_.end()) {
      fail(input.place, "two inputs are called '" + input.name + "'");
    }
    auto& dims = instance_.inputs.emplace_back();
    spreads_.emplace_back();
    pack_starts_.push_back(0);
    for (const syntax::InputDim& dim : input.dims) {
      if (dim.name.empty()) {
        dims.push_back(constant(dim.number));
      } else if (!dim.is_pack) {
        dims.push_back(size_named(dim.name));
      } else {
        pack_starts_.back() = static_cast<std::uint32_t>(dims.size());
        const std::vector<IndexExprPtr> pack = bind_pack(dim);
        dims.insert(dims.end(), pack.begin(), pack.end());
      }
    }
    instance_.input_names.push_back(input.name);
    instance_.input_kinds.push_back(input.kind);
    tensor_names_.push_back(input.name);
    tensor_ranks_.push_back(static_cast<std::uint32_t>(dims.size()));
  }
  instance_.first_size_parameter = static_cast<std::uint32_t>(instance_.size_names.size());
  for (const auto& [pack, length] : packs_) {
    const bool is_parameter = op_.parameter(pack) != nullptr;
    for (std::uint32_t k = 0; !is_parameter && k < length; ++k) {
      if (!names_.contains(pack_element(pack, k)))
        fail(op_.place, "every input repeats dimension " + std::to_string(k) + " of '" + pack + "'");
    }
  }
}

/// The dimensions of an input that are the pack: all, or what its spread leaves of them.
std::vector<IndexExprPtr> Expander::bind_pack(const syntax::InputDim& dim) {
  std::vector<IndexExprPtr> dims;
  if (!dim.spread.empty()) spreads_.back() = permutation(dim.spread, dim.place);
  const std::vector<std::int64_t>& spread = spreads_.back();
  for (std::uint32_t k = 0; k < packs_.at(dim.name); ++k) {
    const std::int64_t how = spread.empty() ? spread_whole : spread[k];
    if (how == spread_whole) dims.push_back(size_named(pack_element(dim.name, k)));
    if (how == spread_one) dims.push_back(constant(1));
  }
  return dims;
}

void Expander::bind_size_parameters() {
  using Kind = syntax::Parameter::Kind;
  for (const syntax::Parameter& declared : op_.parameters) {
    if (declared.kind == Kind::Size) {
      if (names_.contains(declared.name)) fail(declared.place, "'" + declared.name + "' already names a dimension");
      size_named(declared.name);
    } else if (declared.kind == Kind::Sizes) {
      for (std::uint32_t k = 0; k < packs_.at(declared.name); ++k) size_named(pack_element(declared.name, k));
    } else if (std::holds_alternative<Open>(parameter(declared.name, declared.place))) {
      continue;
    } else if (declared.kind == Kind::Ints) {
      const std::vector<std::int64_t>& values = permutation(declared.name, declared.place);
      for (std::uint32_t k = 0; k < values.size(); ++k)
        define(pack_element(declared.name, k), constant(values[k]), declared.place);
      lists_[declared.name] = static_cast<std::uint32_t>(values.size());
    } else if (const auto* value = std::get_if<std::int64_t>(&parameter(declared.name, declared.place))) {
      define(declared.name, constant(*value), declared.place);
    }
  }
  bind_open_parameters();
  if (!names_.contains("rank")) names_["rank"] = constant(rank_);
}

/// Open parameters are sizes after those that are declared as such.
void Expander::bind_open_parameters() {
  for (const syntax::Parameter& declared : op_.parameters) {
    const auto value = instance_.parameters.find(declared.name);
    if (value == instance_.parameters.end() || !std::holds_alternative<Open>(value->second)) continue;
    if (names_.contains(declared.name)) fail(declared.place, "'" + declared.name + "' already names a dimension");
    OpenParameter open{declared.name, instance_.size_parameter_count(), 1, declared.kind == ParameterKind::Ints,
                       std::get<Open>(value->second).least};
    const auto bind = [&](const std::string& name) {
      IndexExprPtr size = size_named(name);
      if (open.least == 0) names_[name] = combine(IndexKind::Sub, size, constant(1));
    };
    if (open.is_list) {
      open.count = packs_.at(declared.pack);
      for (std::uint32_t k = 0; k < open.count; ++k) bind(pack_element(declared.name, k));
      lists_[declared.name] = open.count;
    } else {
      bind(declared.name);
    }
    instance_.open.push_back(open);
  }
}

void Expander::bind_let(const syntax::Let& let) {
  const std::vector<IndexExprPtr> values = entry_values(let.value);
  for (const IndexExprPtr& value : values) {
    std::size_t budget = largest_expression;
    if (!fits(*value, budget)) fail(let.value.place, "'" + let.name + "' stands for an expression of too many terms");
  }
  const bool several = let.value.single == nullptr || pack_length(*let.value.single);
  if (several && !let.is_pack)
    fail(let.place, "'" + let.name + "' is one name, its value a list: write " + let.name + "...");
  if (!let.is_pack) return define(let.name, values[0], let.value.place);
  for (std::uint32_t k = 0; k < values.size(); ++k) define(pack_element(let.name, k), values[k], let.value.place);
  lists_[let.name] = static_cast<std::uint32_t>(values.size());
}

void Expander::expand_condition(const syntax::Condition& condition) {
  if (!condition.except_left.empty()) return;
  if (condition.choice && !chosen(*condition.choice, condition.place)) return;
  for (Comparison& comparison : comparisons(condition.comparison))
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

namespace {

/// The spread of an input's pack, if it has one that is not empty.
const std::vector<std::int64_t>* spread_of(const syntax::InputDim& dim, const Parameters& parameters) {
  const auto found = dim.spread.empty() ? parameters.end() : parameters.find(dim.spread);
  const auto* list = found == parameters.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->second);
  return list == nullptr || list->empty() ? nullptr : list;
}

/// How many elements the pack of an input of this rank has; nothing if the rank does not fit.
struct PackOfInput {
  const syntax::InputDim* pack = nullptr;
  std::uint32_t length = 0;
};
std::optional<PackOfInput> pack_of(const syntax::Input& input, std::uint32_t rank, const Parameters& parameters) {
  PackOfInput result;
  std::uint32_t fixed = 0;
  for (const syntax::InputDim& dim : input.dims) {
    if (!dim.is_pack)
      ++fixed;
    else if (result.pack == nullptr)
      result.pack = &dim;
    else
      return std::nullopt;
  }
  if (result.pack == nullptr ? rank != fixed : rank < fixed) return std::nullopt;
  result.length = rank - fixed;
  if (result.pack == nullptr) return result;
  if (const auto* spread = spread_of(*result.pack, parameters)) {
    const auto there = spread->size() - static_cast<std::size_t>(std::ranges::count(*spread, spread_absent));
    if (there != result.length) return std::nullopt;
    result.length = static_cast<std::uint32_t>(spread->size());
  }
  return result;
}

}  // namespace

bool has_open_rank(const syntax::Operator& op) {
  return std::ranges::any_of(op.parameters, [&](const syntax::Parameter& parameter) {
    auto shared = [&](const syntax::Input& input) {
      return std::ranges::any_of(input.dims,
                                 [&](const auto& dim) { return dim.is_pack && dim.name == parameter.name; });
    };
    return parameter.kind == ParameterKind::Sizes && std::ranges::none_of(op.inputs, shared);
  });
}

std::optional<std::map<std::string, std::uint32_t>> pack_lengths(const syntax::Operator& op,
                                                                 std::span<const std::uint32_t> ranks,
                                                                 const Parameters& parameters) {
  std::map<std::string, std::uint32_t> packs;
  std::size_t arity = op.inputs.size();
  for (const syntax::Parameter& parameter : op.parameters) {
    if (parameter.kind != syntax::Parameter::Kind::Sizes || !has_open_rank(op)) continue;
    if (arity++ != op.inputs.size() || ranks.size() != arity) return std::nullopt;
    packs[parameter.name] = ranks.back();
  }
  if (ranks.size() != arity) return std::nullopt;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const auto found = pack_of(op.inputs[i], ranks[i], parameters);
    if (!found) return std::nullopt;
    if (found->pack == nullptr) continue;
    const auto [at, fresh] = packs.emplace(found->pack->name, found->length);
    if (!fresh && at->second != found->length) return std::nullopt;
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
