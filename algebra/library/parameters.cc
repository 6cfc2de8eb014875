#include "algebra/library/parameters.h"

#include <algorithm>
#include <set>

#include "algebra/expansion/pack_lengths.h"
#include "runtime/text/error.h"
#include "runtime/text/join_text.h"

namespace rulemill::algebra {

using runtime::InputError;

std::vector<ParameterValue> domain(const syntax::Parameter& parameter, std::uint32_t rank) {
  std::vector<ParameterValue> values;
  switch (parameter.kind) {
    case ParameterKind::Enum:
      values.assign(parameter.enum_values.begin(), parameter.enum_values.end());
      break;
    case ParameterKind::Int:
      values.assign(parameter.int_values.begin(), parameter.int_values.end());
      break;
    case ParameterKind::Axis:
      for (std::uint32_t axis = 0; axis < rank; ++axis) values.emplace_back(std::int64_t{axis});
      break;
    case ParameterKind::Permutation: {
      if (rank > 5) break;
      std::vector<std::int64_t> permutation(rank);
      for (std::uint32_t i = 0; i < rank; ++i) permutation[i] = i;
      do values.emplace_back(permutation);
      while (std::ranges::next_permutation(permutation).found);
      break;
    }
    default:
      break;
  }
  return values;
}

bool can_be_symbolic(const syntax::Parameter& parameter) {
  return parameter.kind == ParameterKind::Ints ||
         (parameter.kind == ParameterKind::Int && parameter.int_values.empty());
}

namespace {

/// `length`: number of dimensions of the list's pack.
bool is_allowed_list(ParameterKind kind, const std::vector<std::int64_t>& list, std::uint32_t rank,
                     std::uint32_t length) {
  constexpr std::int64_t max_rank = 16;
  std::int64_t end = max_rank;
  if (kind == ParameterKind::Ints) end = 1 << 20;
  if (kind == ParameterKind::Axes) end = rank;
  if (kind == ParameterKind::Spread) end = spread_absent + 1;
  if (std::ranges::any_of(list, [&](std::int64_t element) { return element < 0 || element >= end; })) return false;
  if (kind == ParameterKind::Ints) return list.size() == length;
  if (kind != ParameterKind::Spread && list.empty()) return false;
  return kind == ParameterKind::Spread || std::set(list.begin(), list.end()).size() == list.size();
}

bool is_allowed(const syntax::Parameter& declared, const ParameterValue& value, std::uint32_t rank,
                std::uint32_t length) {
  if (std::holds_alternative<Symbolic>(value)) return can_be_symbolic(declared);
  if (declared.kind == ParameterKind::Ints || declared.kind == ParameterKind::Axes ||
      declared.kind == ParameterKind::NewAxes || declared.kind == ParameterKind::Spread) {
    const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    return list != nullptr && is_allowed_list(declared.kind, *list, rank, length);
  }
  if (declared.kind == ParameterKind::Permutation) {
    const auto* order = std::get_if<std::vector<std::int64_t>>(&value);
    if (!order || order->size() != rank) return false;
    std::vector<std::int64_t> sorted = *order;
    std::ranges::sort(sorted);
    for (std::uint32_t i = 0; i < rank; ++i) {
      if (sorted[i] != i) return false;
    }
    return true;
  }
  if (declared.kind == ParameterKind::Int && declared.int_values.empty()) {
    const auto* number = std::get_if<std::int64_t>(&value);
    return number && *number >= 0 && *number < (1 << 20);
  }
  if (declared.kind == ParameterKind::Enum) {
    const auto* enum_value = std::get_if<std::string>(&value);
    return enum_value != nullptr && std::ranges::find(declared.enum_values, *enum_value) != declared.enum_values.end();
  }
  const auto* number = std::get_if<std::int64_t>(&value);
  if (declared.kind == ParameterKind::Axis) return number != nullptr && *number >= 0 && *number < rank;
  return number != nullptr && std::ranges::find(declared.int_values, *number) != declared.int_values.end();
}

std::string describe_domain(const syntax::Parameter& declared, std::uint32_t rank, std::uint32_t length) {
  switch (declared.kind) {
    case ParameterKind::Ints:
      return "a list of " + std::to_string(length) + " numbers from 0 to 1048575, one for each of '" + declared.pack +
             "'";
    case ParameterKind::Axes:
      return "a list of different axes below the rank " + std::to_string(rank);
    case ParameterKind::NewAxes:
      return "a list of different axes";
    case ParameterKind::Spread:
      return "a list of 0 (whole), 1 (one element) and 2 (absent)";
    case ParameterKind::Permutation:
      return "a permutation of 0.." + std::to_string(static_cast<int>(rank) - 1);
    case ParameterKind::Axis:
      return "an axis below the rank " + std::to_string(rank);
    default:
      break;
  }
  const std::string text =
      runtime::join_text(domain(declared, rank), [](const ParameterValue& value) { return to_string(value); });
  return text.empty() ? "a number from 0 to 1048575" : "one of " + text;
}

}  // namespace

Parameters complete_parameters(const syntax::Operator& op, const Parameters& given,
                               std::span<const std::uint32_t> ranks) {
  const std::string where = "operator '" + op.name + "'";
  for (const auto& [name, value] : given) {
    const syntax::Parameter* declared = op.parameter(name);
    if (!declared || declared->kind == ParameterKind::Size || declared->kind == ParameterKind::Sizes) {
      const std::string known = runtime::join_text(op.parameters, &syntax::Parameter::name);
      throw InputError("", where + " has no parameter '" + name + "'" + (known.empty() ? "" : "; it has " + known));
    }
  }
  Parameters complete;
  const std::uint32_t rank = ranks.empty() ? 0 : ranks[0];
  const auto packs = pack_lengths(op, ranks, given);
  for (const syntax::Parameter& declared : op.parameters) {
    if (declared.kind == ParameterKind::Size || declared.kind == ParameterKind::Sizes) continue;
    const auto found = given.find(declared.name);
    if (found == given.end() && !declared.default_value)
      throw InputError("", where + " needs its parameter '" + declared.name + "'");
    ParameterValue value = found == given.end() ? *declared.default_value : found->second;
    const bool has_length = declared.kind == ParameterKind::Ints && packs && packs->contains(declared.pack);
    const std::uint32_t length = has_length ? packs->at(declared.pack) : 0;
    if (const auto* one = std::get_if<std::int64_t>(&value); one != nullptr && declared.kind == ParameterKind::Ints)
      value = std::vector<std::int64_t>(length, *one);
    if (!is_allowed(declared, value, rank, length))
      throw InputError("", where + ": " + declared.name + "=" + to_string(value) + " is not " +
                               describe_domain(declared, rank, length));
    complete[declared.name] = value;
  }
  return complete;
}

}  // namespace rulemill::algebra
