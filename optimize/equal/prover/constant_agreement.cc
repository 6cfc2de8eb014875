#include "optimize/equal/prover/constant_agreement.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "optimize/cost/cost_model.h"
#include "optimize/model/numbers.h"
#include "optimize/model/rounding.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

using algebra::Tracked;

/// Elements of the largest constant that is computed.
constexpr double max_computed_elements = 1 << 26;

/// Elements of all constants in a term that is computed: they are in memory together.
constexpr double max_term_elements = 1 << 28;

/// Elements that are kept from one comparison to the next.
constexpr std::size_t max_kept_elements = 1 << 24;

/// Errors of elements that are small beside the largest element: where more is lost, a term may agree with anything.
constexpr double max_relative_error = 0x1p-10;

/// The roundoff of the numbers in which constants are computed here.
constexpr double own_roundoff = 0x1p-53;

/// What cancels where an element of a stored constant is folded is at most this many times as large.
constexpr double max_cancellation = 1 << 16;

/// Elements of a constant that are kept, about.
constexpr std::size_t max_samples = 64;

Tracked element_of(const algebra::Tensor& tensor, std::size_t i) {
  return {tensor.values[i], tensor.errors.empty() ? 0 : tensor.errors[i]};
}

/// Returns the difference in units of the bound of both errors, 0 if rounding to the type makes both equal; nullopt if
/// it is too large, or one has left the range of the type: then what is stored says nothing of the other. Only a number
/// that underflows agrees with the stored one to which it is rounded, by at most half of the smallest number beyond
/// twice its errors, if `are_small`: if numbers below the normal ones are less than a rounding error of others in these
/// constants.
std::optional<double> difference_of(Tracked a, Tracked b, DataType type, bool are_small) {
  if (is_underflowed(a) || is_underflowed(b)) return std::nullopt;
  if (a.value == b.value) return 0;
  const bool is_first_stored = is_in_range(a.value, type), is_second_stored = is_in_range(b.value, type);
  const bool is_lost = !is_first_stored || !is_second_stored;
  const double first = rounded(a.value, type), second = rounded(b.value, type);
  if (is_lost && (is_first_stored == is_second_stored || !are_small || !std::isfinite(first + second)))
    return std::nullopt;
  if (first == second) return 0;
  const double error = a.error + b.error + (is_lost ? smallest_normal(type) / max_constant_errors : 0);
  if (error == 0 || std::isinf(error)) return std::nullopt;
  const double difference = std::abs(a.value - b.value) / (unit_roundoff(type) * error);
  return difference <= max_constant_errors ? std::optional(difference) : std::nullopt;
}

/// Returns whether the errors are a few roundoffs of the element, or both differ by no more than its rounding, which
/// is certain because computing it here loses less.
bool is_accurate(Tracked a, Tracked b, DataType type) {
  constexpr double few = 16, rounding = 4;
  const double error = a.error + b.error, size = std::max(std::abs(a.value), std::abs(b.value));
  const double limit = rounding * unit_roundoff(type) * size;
  return error <= few * size || (std::abs(a.value - b.value) <= limit && own_roundoff * error <= limit);
}

/// Returns the largest difference of elements; nullopt if some do not agree.
template <class At>
std::optional<double> largest_difference(std::size_t count, DataType type, bool are_small, bool each_accurate,
                                         const At& at) {
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [a, b] = at(i);
    const auto difference = difference_of(a, b, type, are_small);
    if (!difference || (each_accurate && !is_accurate(a, b, type))) return std::nullopt;
    largest = std::max(largest, *difference);
  }
  return largest;
}

/// The errors of elements that were folded, and so rounded, row by row.
std::vector<double> errors_of_rounding(const algebra::Tensor& tensor) {
  constexpr double roundoffs = max_stored_roundoffs / max_constant_errors;
  const std::size_t row = tensor.shape.empty() ? 1 : static_cast<std::size_t>(tensor.shape.back());
  std::vector<double> errors;
  for (std::size_t begin = 0; begin < tensor.values.size(); begin += row) {
    const auto elements = std::span(tensor.values).subspan(begin, row);
    const double largest = largest_of(elements);
    for (const double element : elements)
      errors.push_back(roundoffs * std::min(largest, max_cancellation * std::abs(element)));
  }
  return errors;
}

GraphEvaluator evaluator_of(const GraphBank& bank) {
  const auto no_input = [](ValueId) -> GraphEvaluator::TensorPtr {
    throw runtime::Error("constant folding", "a constant depends on an input");
  };
  return {bank, {}, no_input, GraphEvaluator::Precision::Tracked};
}

}  // namespace

double largest_of(std::span<const double> elements) {
  double largest = 0;
  for (const double element : elements)
    if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
  return largest;
}

double work_of_node(const GraphBank& bank, NodeId id, const GraphEvaluator& at_sizes) {
  const Node& node = bank.node(id);
  if (node.kind != Node::Kind::Algebra) return 0;
  std::vector<std::vector<std::int64_t>> inputs;
  for (const ValueId argument : node.arguments) inputs.push_back(at_sizes.dims(*bank.value(argument).type));
  const std::optional<Work> work = work_of(bank.library(), bank.instance(node), inputs, at_sizes.dims(node.sizes));
  return work ? work->product_flops / 2 + work->scalar_flops : 0;
}

ConstantComparison::ConstantComparison(const GraphBank& bank) : bank_(&bank), evaluator_(evaluator_of(bank)) {}

void ConstantComparison::read_as_rounded() {
  stored_are_rounded_ = true;
  evaluator_.forget();
  evaluator_.set_constant_errors(errors_of_rounding);
  samples_.clear();
  agreements_.clear();
}

GraphEvaluator::TensorPtr ConstantComparison::elements_of(ValueId value) {
  const double count = known_elements(bank_->value(value).type);
  if (count == 0 || count > max_computed_elements) return nullptr;
  if (evaluator_.kept_elements() > max_kept_elements) evaluator_.forget();
  double elements = 0;
  for (const NodeId id : bank_->live_nodes({&value, 1})) {
    if (evaluator_.is_kept(bank_->node(id).outputs[0])) continue;
    for (const ValueId output : bank_->node(id).outputs) elements += known_elements(bank_->value(output).type);
    work_ += work_of_node(*bank_, id, evaluator_);
  }
  work_ += elements;  // moving them takes time, too
  if (elements > max_term_elements) return nullptr;
  return is_work_done() ? nullptr : evaluator_.kept_value(value);
}

const ConstantComparison::Sample& ConstantComparison::sample(ValueId value) {
  const auto [found, is_new] = samples_.try_emplace(value);
  Sample& sample = found->second;
  const auto elements = is_new ? elements_of(value) : nullptr;
  if (!elements) return sample;
  sample.is_finite = std::ranges::all_of(elements->values, [](double element) { return std::isfinite(element); });
  sample.is_exact = std::ranges::all_of(elements->errors, [](double error) { return error == 0; });
  const DataType type = bank_->value(value).type.data_type;
  const double roundoff = unit_roundoff(type), largest = largest_of(elements->values);
  const double error = elements->errors.empty() ? 0 : std::ranges::max(elements->errors);
  sample.is_accurate = error * roundoff <= max_relative_error * largest;
  sample.has_large = smallest_normal(type) <= roundoff * largest;
  const std::size_t step = std::max<std::size_t>(1, elements->values.size() / max_samples);
  for (std::size_t i = 0; i < elements->values.size(); i += step) sample.elements.push_back(element_of(*elements, i));
  return sample;
}

std::optional<double> ConstantComparison::difference(ValueId a, ValueId b, bool is_read_as_computed) {
  if (a == b) return 0;
  const Node &first_node = bank_->node_of(a), &second_node = bank_->node_of(b);
  const bool is_first_stored = first_node.kind == Node::Kind::Constant,
             is_second_stored = second_node.kind == Node::Kind::Constant;
  const ValueType& type = bank_->value(a).type;
  if ((is_first_stored && is_second_stored && !stored_are_rounded_) || !first_node.constant || !second_node.constant ||
      !type || type != bank_->value(b).type || !is_float(type.data_type))
    return std::nullopt;
  if (!sample(a).is_accurate || !sample(b).is_accurate) return std::nullopt;
  const std::vector<Tracked> first = sample(a).elements;  // a copy, because the table may grow
  const std::vector<Tracked>& second = sample(b).elements;
  const bool are_small = sample(a).has_large && sample(b).has_large;
  if (first.empty() || second.empty() ||
      !largest_difference(first.size(), type.data_type, are_small, each_accurate_,
                          [&](std::size_t i) { return std::pair(first[i], second[i]); })) {
    return std::nullopt;
  }
  const bool are_of_one = are_of_one_model(a, b);
  if (are_of_one && !is_read_as_computed && !(sample(a).is_exact && sample(b).is_exact)) return std::nullopt;
  const auto [known, is_new] = agreements_.try_emplace({a, b});
  if (is_new) {
    const auto before = elements_of(a), after = elements_of(b);
    if (!before || !after) return std::nullopt;
    // The sign of 0 decides about infinity.
    const auto is_same = [](double x, double y) { return x != y || std::signbit(x) == std::signbit(y); };
    if (is_first_stored && is_second_stored && !std::ranges::equal(before->values, after->values, is_same))
      return std::nullopt;
    known->second.is_identical = before->values == after->values;
    known->second.difference =
        largest_difference(before->values.size(), type.data_type, are_small, each_accurate_,
                           [&](std::size_t i) { return std::pair(element_of(*before, i), element_of(*after, i)); });
  }
  const Agreement& agreement = known->second;
  if (!agreement.difference) return std::nullopt;
  const bool is_same = is_read_as_computed ? *agreement.difference == 0 : agreement.is_identical;
  if (are_of_one && !is_same) return std::nullopt;
  if ((is_first_stored && !stands_for(b, a)) || (is_second_stored && !stands_for(a, b))) return std::nullopt;
  return agreement.difference;
}

std::string ConstantComparison::content(ValueId constant) {
  const auto elements = elements_of(constant);
  const auto type = static_cast<int>(bank_->value(constant).type.data_type);
  return elements ? std::to_string(type) + digest(*elements) : "";
}

/// A computed constant stands for one stored number: else two that differ by a rounding error would be equal.
bool ConstantComparison::stands_for(ValueId computed, ValueId stored) {
  const ValueId known = stored_for_.try_emplace(computed, stored).first->second;
  const auto values = [&](ValueId constant) { return bank_->tensor(bank_->node_of(constant).source); };
  return known == stored || values(known)->values == values(stored)->values;
}

bool ConstantComparison::is_operator(ValueId constant) const {
  return std::ranges::none_of(bank_->live_nodes({&constant, 1}),
                              [&](NodeId id) { return bank_->node(id).kind == Node::Kind::Constant; });
}

bool ConstantComparison::is_of(std::size_t model, ValueId constant) const {
  return std::ranges::all_of(bank_->live_nodes({&constant, 1}), [&](NodeId id) {
    return bank_->node(id).kind != Node::Kind::Constant || stored_[model].contains(bank_->node(id).outputs[0]);
  });
}

bool ConstantComparison::are_of_one_model(ValueId a, ValueId b) const {
  return !is_operator(a) && !is_operator(b) && ((is_of(0, a) && is_of(0, b)) || (is_of(1, a) && is_of(1, b)));
}

const std::optional<ConstantView>& ConstantComparison::view(ValueId part, ValueId whole) {
  const auto [known, is_new] = views_.try_emplace({part, whole});
  const auto elements = is_new ? elements_of(part) : nullptr;
  const auto others = elements ? elements_of(whole) : nullptr;
  if (others) known->second = find_view(*elements, *others);
  return known->second;
}

bool ConstantComparison::has_block(ValueId whole, std::size_t axis, std::int64_t begin, ValueId part) {
  const auto [known, is_new] = blocks_.try_emplace({whole, axis, begin, part});
  const auto elements = is_new ? elements_of(whole) : nullptr;
  const auto others = elements ? elements_of(part) : nullptr;
  if (others) known->second = optimize::has_block(*elements, axis, begin, *others);
  return known->second;
}

}  // namespace rulemill::optimize
