#include "optimize/equal/proof/canonical_model.h"

#include <algorithm>
#include <utility>

#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

/// ONNX's numbers of the element types of literals.
int element_type_of_literal(DataType type) {
  constexpr std::pair<DataType, int> numbers[] = {{DataType::Float32, 1},   {DataType::Float16, 10},
                                                  {DataType::BFloat16, 16}, {DataType::Float64, 11},
                                                  {DataType::Bool, 9},      {DataType::Integer, 7}};
  return std::ranges::find(numbers, type, &std::pair<DataType, int>::first)->second;
}

}  // namespace

ValueId ConstantTable::constant(ValueId original, int onnx_type, const std::string& key) {
  if (const auto known = by_key_.find(key); !key.empty() && known != by_key_.end()) return known->second;
  const std::uint32_t source = bank_->node_of(original).source;
  const ValueType type = bank_->value(original).type;
  const auto tensor = bank_->tensor(source);
  const ValueId canonical = bank_->constant(
      "element type " + std::to_string(onnx_type), digest(*tensor), tensor->shape,
      [bank = bank_, source] { return bank->tensor(source); }, type.data_type);
  if (!key.empty()) by_key_.emplace(key, canonical);
  names_.emplace(canonical, bank_->value(original).name);
  return canonical;
}

std::string ConstantTable::name(ValueId canonical) const {
  const auto found = names_.find(canonical);
  return found == names_.end() ? "" : found->second;
}

ValueId ConstantTable::opaque(const std::string& key, const ValueType& type) {
  if (const auto known = by_key_.find(key); known != by_key_.end()) return known->second;
  return by_key_.emplace(key, bank_->node(bank_->opaque(key, {}, std::span(&type, 1))).outputs[0]).first->second;
}

CanonicalModel::CanonicalModel(GraphBank& bank, ConstantTable& constants, const ImportedModel& import,
                               const ModelIdentity& identity, std::string prefix)
    : bank_(&bank), constants_(&constants), import_(&import), identity_(&identity), prefix_(std::move(prefix)) {
  // Sorted, so that results do not depend on the order of a hash table.
  std::vector<std::pair<std::string, ValueId>> values(import.values.begin(), import.values.end());
  std::ranges::sort(values);
  for (const auto& [name, id] : values) {
    if (identity.constant_type(name) || identity.initializer_key(name)) names_.emplace(id, name);
  }
  for (const ValueId input : import.inputs) {
    const ValueType& type = bank.value(input).type;
    for (const algebra::Poly& dim : type.value_or({})) {
      for (const algebra::Atom atom : bank.symbols().atoms(dim)) sizes_.emplace(atom, algebra::Poly(atom));
    }
  }
}

void CanonicalModel::add(NodeId original) {
  const Node node = bank_->node(original);  // a copy, because the bank grows
  if (node.kind == Node::Kind::Input) return define(node.outputs, {input(node.outputs[0])});
  if (node.kind == Node::Kind::Constant) return define(node.outputs, {constant(node.outputs[0])});
  std::vector<ValueId> arguments;
  for (const ValueId argument : node.arguments) arguments.push_back(value(argument));
  std::vector<algebra::Atom>& first_seen = first_seen_[original];
  for (const algebra::Atom atom : first_seen) sizes_.erase(atom);
  new_sizes_.clear();
  node.kind == Node::Kind::Algebra ? add_algebra(original, arguments) : add_opaque(original, arguments);
  first_seen = new_sizes_;
}

/// An initializer of an unsupported type is imported as an input, although its content is known.
ValueId CanonicalModel::input(ValueId original) {
  if (std::ranges::find(import_->inputs, original) != import_->inputs.end()) return original;
  const auto key = identity_->initializer_key(names_.at(original));
  RM_CHECK(key, "a value that no node computes is an input or an initializer");
  return constants_->opaque(*key, bank_->value(original).type);
}

ValueId CanonicalModel::constant(ValueId original) {
  const auto name = names_.find(original);
  const auto type = name == names_.end() ? std::nullopt : identity_->constant_type(name->second);
  const auto key = name == names_.end() ? std::nullopt : identity_->initializer_key(name->second);
  return constants_->constant(original, type.value_or(element_type_of_literal(bank_->value(original).type.data_type)),
                              key.value_or(""));
}

void CanonicalModel::add_algebra(NodeId original, const std::vector<ValueId>& arguments) {
  const Node node = bank_->node(original);
  std::vector<algebra::Poly> sizes;
  for (const algebra::Poly& size : node.sizes) sizes.push_back(translate(size));
  if (const auto created = bank_->apply(node.instance, arguments, sizes, node.real_type))
    return define(node.outputs, bank_->node(*created).outputs);
  // Merged arguments have types that are less precise: nothing equals this node.
  std::vector<ValueType> types(node.outputs.size());
  const NodeId unique = bank_->opaque(prefix_ + std::to_string(index(original)), arguments, types);
  define(node.outputs, bank_->node(unique).outputs);
}

void CanonicalModel::add_opaque(NodeId original, const std::vector<ValueId>& arguments) {
  const Node node = bank_->node(original);
  const std::string& key = identity_->node_key(import_->opaque_nodes.at(node.source));
  std::vector<ValueType> own, types;
  for (const ValueId output : node.outputs) own.push_back(bank_->value(output).type);
  if (key.starts_with("constant ") && node.outputs.size() == 1)
    return define(node.outputs, {constants_->opaque(key, own[0])});
  for (const ValueType& type : own) {
    algebra::Shape shape;
    for (const algebra::Poly& dim : type.value_or({})) shape.push_back(translate(dim));
    types.push_back(type ? ValueType(std::move(shape), type.data_type) : ValueType());
  }
  const NodeId canonical = bank_->opaque(key, arguments, types);
  std::vector<ValueId> outputs = bank_->node(canonical).outputs;
  // An equal node may leave out its last outputs.
  for (std::size_t i = outputs.size(); i < types.size(); ++i) {
    const NodeId rest = bank_->opaque(key + " output " + std::to_string(i), arguments, std::span(&types[i], 1));
    outputs.push_back(bank_->node(rest).outputs[0]);
  }
  for (std::size_t i = 0; i < std::min(own.size(), outputs.size()); ++i)
    match_sizes(own[i], bank_->value(outputs[i]).type);
  define(node.outputs, outputs);
}

/// Replaces the model's own dimensions. Those of different models are different, even if their names are equal.
algebra::Poly CanonicalModel::translate(const algebra::Poly& size) {
  for (const algebra::Atom atom : bank_->symbols().atoms(size)) {
    if (sizes_.contains(atom)) continue;
    sizes_.emplace(atom, algebra::Poly(bank_->symbols().size(prefix_ + bank_->symbols().name(atom))));
    new_sizes_.push_back(atom);
  }
  return bank_->symbols().substitute(size, sizes_);
}

/// Gives dimensions that this node introduces the names that they have in an equal node.
void CanonicalModel::match_sizes(const ValueType& own, const ValueType& canonical) {
  if (!own || !canonical || own->size() != canonical->size()) return;
  for (std::size_t d = 0; d < own->size(); ++d) {
    for (const algebra::Atom atom : new_sizes_) {
      const algebra::Poly offset = (*own)[d] - algebra::Poly(atom);
      if (offset.constant()) sizes_[atom] = (*canonical)[d] - offset;
    }
  }
}

void CanonicalModel::define(const std::vector<ValueId>& originals, const std::vector<ValueId>& canonical) {
  for (std::size_t i = 0; i < std::min(originals.size(), canonical.size()); ++i) {
    canonical_[originals[i]] = canonical[i];
  }
}

}  // namespace rulemill::optimize
