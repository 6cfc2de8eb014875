#include "optimize/onnx/run_time_sizes.h"

#include <algorithm>

namespace rulemill::optimize {

RunTimeSizes::RunTimeSizes(const GraphBank& bank, const Import& import) : bank_(bank) {
  for (const ValueId input : import.inputs) {
    const ValueType& type = bank.value(input).type;
    if (!type) continue;
    for (std::size_t d = 0; d < type->size(); ++d) {
      const std::int64_t above = (*type)[d].constant_term();
      const auto size = ((*type)[d] - above).atom();
      if (size) places_.try_emplace(*size, Place{input, static_cast<std::int64_t>(d), above});
    }
  }
}

bool RunTimeSizes::computable(const algebra::Poly& size) const {
  return std::ranges::all_of(bank_.symbols().atoms(size), [&](algebra::Atom atom) { return places_.contains(atom); });
}

std::string SizeWriter::list(const std::vector<algebra::Poly>& sizes) {
  std::vector<std::string> parts;
  for (const algebra::Poly& each : sizes) parts.push_back(size(each));
  return parts.size() == 1 ? parts[0] : node(SizeOperator::Concat, parts);
}

/// The sum of its terms, each the product of its atoms and its coefficient.
std::string SizeWriter::size(const algebra::Poly& size) {
  if (auto found = written_.find(size); found != written_.end()) return found->second;
  std::string sum;
  for (const algebra::Poly::Term& term : size.terms()) {
    std::string product = term.coefficient == 1 && !term.monomial.empty() ? "" : number(term.coefficient);
    for (const algebra::Atom each : term.monomial) {
      product = product.empty() ? atom(each) : node(SizeOperator::Mul, {product, atom(each)});
    }
    sum = sum.empty() ? product : node(SizeOperator::Add, {sum, product});
  }
  return written_[size] = sum.empty() ? number(0) : sum;
}

std::string SizeWriter::atom(algebra::Atom atom) {
  const algebra::Poly alone(atom);
  if (auto found = written_.find(alone); found != written_.end()) return found->second;
  using Kind = algebra::Symbols::Kind;
  const Kind kind = symbols_.kind(atom);
  std::string made;
  if (kind == Kind::Size) {
    const RunTimeSizes::Place& place = sizes_.place(atom);
    std::string& shape = shapes_[place.input];
    if (shape.empty()) shape = node(SizeOperator::Shape, {out_.input(place.input)});
    made = node(SizeOperator::Gather, {shape, number(place.axis)});
    if (place.above != 0) made = node(SizeOperator::Sub, {made, number(place.above)});
  } else if (kind == Kind::FloorDiv) {
    made = floor_division(symbols_.left(atom), symbols_.right(atom));
  } else {
    made = node(kind == Kind::Min ? SizeOperator::Min : SizeOperator::Max,
                {size(symbols_.left(atom)), size(symbols_.right(atom))});
  }
  return written_[alone] = made;
}

/// ONNX divides integers towards zero; its remainder has the divisor's sign.
std::string SizeWriter::floor_division(const algebra::Poly& left, const algebra::Poly& right) {
  const std::string above = size(left), below = size(right);
  if (symbols_.nonnegative(left) && symbols_.positive(right)) return node(SizeOperator::Div, {above, below});
  const std::string rest = node(SizeOperator::Mod, {above, below});
  return node(SizeOperator::Div, {node(SizeOperator::Sub, {above, rest}), below});
}

std::string SizeWriter::node(SizeOperator op, const std::vector<std::string>& inputs) {
  return out_.node(onnx_name(op), inputs);
}

std::string SizeWriter::number(std::int64_t value) {
  std::string& name = written_[algebra::Poly(value)];
  if (name.empty()) name = out_.number(value);
  return name;
}

}  // namespace rulemill::optimize
