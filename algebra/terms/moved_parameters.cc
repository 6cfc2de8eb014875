#include "algebra/terms/moved_parameters.h"

#include <algorithm>

namespace rulemill::algebra {
namespace {

std::int64_t position_in(const Counts& counts, std::int64_t axis) {
  std::int64_t position = 0;
  for (std::int64_t d = 0; d < axis; ++d) position += counts.at(static_cast<std::size_t>(d));
  return position;
}

std::vector<std::int64_t> positions(const std::vector<std::int64_t>& axes, const Counts& counts) {
  std::vector<std::int64_t> result;
  for (const std::int64_t axis : axes) {
    for (std::uint32_t k = 0; k < counts.at(static_cast<std::size_t>(axis)); ++k)
      result.push_back(position_in(counts, axis) + k);
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

Parameters MovedParameters::moved(const Counts& by_slot, bool scattered) const {
  Parameters result;
  for (const auto& [name, value] : instance_.parameters) {
    const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    const auto* number = std::get_if<std::int64_t>(&value);
    switch (library_.parameter_kind(instance_.operator_name, name)) {
      case ParameterKind::Axis:
        result[name] = position_in(input_, *number);
        break;
      case ParameterKind::Axes:
        result[name] = positions(*list, input_);
        break;
      case ParameterKind::NewAxes:
        result[name] = positions(*list, output_);
        break;
      case ParameterKind::Permutation:
        result[name] = scattered ? inverse(permuted(inverse(*list))) : permuted(*list);
        break;
      case ParameterKind::Spread:
      case ParameterKind::Ints:
        result[name] = list == nullptr ? value : ParameterValue(repeated(name, *list, by_slot));
        break;
      default:
        result[name] = value;
    }
  }
  return result;
}

std::vector<std::int64_t> MovedParameters::permuted(const std::vector<std::int64_t>& order) const {
  return positions(order, input_);
}

/// One entry an element of a pack: as often as its dimension.
std::vector<std::int64_t> MovedParameters::repeated(const std::string& name, const std::vector<std::int64_t>& list,
                                                    const Counts& by_slot) const {
  const std::string pack = library_.pack_of(instance_.operator_name, name);
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
