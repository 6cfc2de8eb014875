#include "optimize/verify/random_inputs.h"

#include <fmt/format.h>

#include <random>

#include "optimize/model/rounding.h"
#include "runtime/text/hash.h"

namespace rulemill::optimize {
namespace {

constexpr std::int64_t small_sizes[] = {3, 5, 2, 7, 4, 6};

/// Ranges of the random inputs, used in turns, because a model may compute only NaN or zeros on some of them.
struct Range {
  double lower, upper;
};
constexpr Range ranges[] = {{-1, 1},     {0.25, 2}, {-8, 8},   {0, 1},       {-2, -0.25},
                            {-100, 100}, {8, 16},   {-16, -8}, {-1000, 1000}};

algebra::Tensor random_tensor(std::vector<std::int64_t> shape, const Draw& draw, std::uint64_t source,
                              const Value& drawn) {
  std::uint64_t words[] = {draw.number, source, drawn.output};
  std::mt19937_64 random(runtime::hash64(runtime::bytes_of(words)));
  const Range range = ranges[draw.number % std::size(ranges)];
  algebra::Tensor tensor{std::move(shape), {}};
  std::size_t count = 1;
  for (std::int64_t dim : tensor.shape) count *= static_cast<std::size_t>(dim);
  tensor.values.resize(count);
  for (double& value : tensor.values) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    value = rounded(draw.scale * (range.lower + (range.upper - range.lower) * unit), drawn.type.data_type);
    if (draw.has_zeros && random() % 3 == 0) value = 0;
    // Integers are small, because most of them are indices.
    if (drawn.type.data_type == DataType::Bool) value = unit < 0.5 ? 0 : 1;
    if (drawn.type.data_type == DataType::Integer) value = static_cast<double>(random() % 3);
  }
  return tensor;
}

}  // namespace

std::string describe(const Draw& draw) {
  if (draw.given) return draw.given->origin;
  if (draw.size) return "dynamic sizes " + std::to_string(*draw.size);
  return fmt::format("input {}{}{}", draw.number, draw.scale == 1 ? "" : fmt::format(" times {:.2g}", draw.scale),
                     draw.has_zeros ? " with zeros" : "");
}

GraphEvaluator::Sizes draw_sizes(const Draw& draw, std::span<const algebra::Atom> atoms,
                                 const GraphEvaluator::Sizes& given) {
  GraphEvaluator::Sizes sizes = given;
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    sizes.emplace(atoms[i], draw.size.value_or(small_sizes[(i + draw.number) % std::size(small_sizes)]));
  }
  return sizes;
}

GraphEvaluator::TensorPtr& RandomInputs::tensor_of(ValueId id) {
  const Node& node = bank_->node_of(id);
  // Both graphs get the same values: opaque nodes are the same if their source is.
  const std::uint64_t source = node.source * 2ull + (node.kind == Node::Kind::Opaque ? 1 : 0);
  auto& tensor = tensors_[{source, bank_->value(id).output}];
  if (!tensor && draw_.given && node.kind == Node::Kind::Input) tensor = draw_.given->tensors.at(node.source);
  if (!tensor) {
    tensor = std::make_shared<algebra::Tensor>(
        random_tensor(shapes_.dims(*bank_->value(id).type), draw_, source, bank_->value(id)));
  }
  return tensor;
}

GraphEvaluator::TensorPtr RandomInputs::operator()(ValueId id) {
  if (!bank_->value(id).type) return nullptr;
  return tensor_of(id);
}

void RandomInputs::set(ValueId id, algebra::Tensor tensor) {
  tensor_of(id) = std::make_shared<algebra::Tensor>(std::move(tensor));
}

}  // namespace rulemill::optimize
