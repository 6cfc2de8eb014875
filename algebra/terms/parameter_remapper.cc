#include "algebra/terms/parameter_remapper.h"

#include <algorithm>

namespace rulemill::algebra {
namespace {

std::int64_t first_position(const DimensionCounts& counts, std::int64_t axis) {
  std::int64_t position = 0;
  for (std::int64_t d = 0; d < axis; ++d) position += counts.at(static_cast<std::size_t>(d));
  return position;
}

std::vector<std::int64_t> positions(const std::vector<std::int64_t>& axes, const DimensionCounts& counts) {
  std::vector<std::int64_t> result;
  for (const std::int64_t axis : axes) {
    for (std::uint32_t k = 0; k < counts.at(static_cast<std::size_t>(axis)); ++k)
      result.push_back(first_position(counts, axis) + k);
  }
  return result;
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> result(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    result.at(static_cast<std::size_t>(order[k])) = static_cast<std::int64_t>(k);
  return result;
}

}  // namespace

Parameters ParameterRemapper::remap(const DimensionCounts& by_slot, bool is_scatter) const {
  Parameters result;
  for (const auto& [name, value] : instance_.parameters) {
    const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    const auto* number = std::get_if<std::int64_t>(&value);
    switch (library_.parameter_kind(instance_.operator_name, name)) {
      case ParameterKind::Axis:
        result[name] = first_position(input_counts_, *number);
        break;
      case ParameterKind::Axes:
        result[name] = positions(*list, input_counts_);
        break;
      case ParameterKind::NewAxes:
        result[name] = positions(*list, output_counts_);
        break;
      case ParameterKind::Permutation:
        result[name] = is_scatter ? inverse(remap_permutation(inverse(*list))) : remap_permutation(*list);
        break;
      case ParameterKind::Spread:
      case ParameterKind::Ints:
        result[name] = list == nullptr ? value : ParameterValue(repeat_entries(name, *list, by_slot));
        break;
      default:
        result[name] = value;
    }
  }
  return result;
}

std::vector<std::int64_t> ParameterRemapper::remap_permutation(const std::vector<std::int64_t>& order) const {
  return positions(order, input_counts_);
}

/// Repeats the entry of each pack element as often as its dimension is expanded.
std::vector<std::int64_t> ParameterRemapper::repeat_entries(const std::string& name,
                                                            const std::vector<std::int64_t>& list,
                                                            const DimensionCounts& by_slot) const {
  const std::string pack = library_.parameter_pack(instance_.operator_name, name);
  std::vector<std::int64_t> result;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const auto slot = std::ranges::find(instance_.size_names, pack + std::to_string(k));
    const std::uint32_t count = slot == instance_.size_names.end()
                                    ? 1
                                    : by_slot.at(static_cast<std::size_t>(slot - instance_.size_names.begin()));
    for (std::uint32_t c = 0; c < count; ++c) result.push_back(list[k]);
  }
  return result;
}

}  // namespace rulemill::algebra
