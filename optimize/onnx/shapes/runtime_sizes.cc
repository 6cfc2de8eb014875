#include "optimize/onnx/shapes/runtime_sizes.h"

#include <algorithm>

namespace rulemill::optimize {

RuntimeSizes::RuntimeSizes(const GraphBank& bank, std::span<const ValueId> inputs) : bank_(bank) {
  for (const ValueId input : inputs) {
    const ValueType& type = bank.value(input).type;
    if (!type) continue;
    for (std::size_t d = 0; d < type->size(); ++d) {
      const std::int64_t offset = (*type)[d].constant_term();
      const auto size = ((*type)[d] - offset).atom();
      if (size) input_dims_.try_emplace(*size, InputDim{input, static_cast<std::int64_t>(d), offset});
    }
  }
}

bool RuntimeSizes::is_computable(const algebra::Poly& size) const {
  return std::ranges::all_of(bank_.symbols().atoms(size),
                             [&](algebra::Atom atom) { return input_dims_.contains(atom); });
}

std::string SizeWriter::write_list(const std::vector<algebra::Poly>& sizes) {
  std::vector<std::string> elements;
  for (const algebra::Poly& each : sizes) elements.push_back(size(each));
  return elements.size() == 1 ? elements[0] : node("Concat", elements);
}

/// Writes a sum of terms, each the product of its atoms and its coefficient.
std::string SizeWriter::size(const algebra::Poly& size) {
  if (auto found = written_.find(size); found != written_.end()) return found->second;
  std::string sum;
  for (const algebra::Poly::Term& term : size.terms()) {
    std::string product = term.coefficient == 1 && !term.monomial.empty() ? "" : number(term.coefficient);
    for (const algebra::Atom each : term.monomial) {
      product = product.empty() ? atom(each) : node("Mul", {product, atom(each)});
    }
    sum = sum.empty() ? product : node("Add", {sum, product});
  }
  return written_[size] = sum.empty() ? number(0) : sum;
}

std::string SizeWriter::atom(algebra::Atom atom) {
  const algebra::Poly poly(atom);
  if (auto found = written_.find(poly); found != written_.end()) return found->second;
  using Kind = algebra::Symbols::Kind;
  const Kind kind = symbols_.kind(atom);
  std::string name;
  if (kind == Kind::Size) {
    const RuntimeSizes::InputDim& input_dim = sizes_.input_dim(atom);
    std::string& shape = shapes_[input_dim.input];
    if (shape.empty()) shape = node("Shape", {sink_.input(input_dim.input)});
    name = node("Gather", {shape, number(input_dim.axis)});
    if (input_dim.offset != 0) name = node("Sub", {name, number(input_dim.offset)});
  } else if (kind == Kind::FloorDiv) {
    name = floor_division(symbols_.left(atom), symbols_.right(atom));
  } else {
    name = node(kind == Kind::Min ? "Min" : "Max", {size(symbols_.left(atom)), size(symbols_.right(atom))});
  }
  return written_[poly] = name;
}

/// ONNX integer division truncates; its remainder has the divisor's sign.
std::string SizeWriter::floor_division(const algebra::Poly& left, const algebra::Poly& right) {
  const std::string dividend = size(left), divisor = size(right);
  if (symbols_.is_nonnegative(left) && symbols_.is_positive(right)) return node("Div", {dividend, divisor});
  const std::string rest = node("Mod", {dividend, divisor});
  return node("Div", {node("Sub", {dividend, rest}), divisor});
}

std::string SizeWriter::node(const char* op_type, const std::vector<std::string>& inputs) {
  return sink_.node(op_type, inputs);
}

std::string SizeWriter::number(std::int64_t value) {
  std::string& name = written_[algebra::Poly(value)];
  if (name.empty()) name = sink_.number(value);
  return name;
}

}  // namespace rulemill::optimize
