#include "algebra/library/parameters.h"

#include <algorithm>

#include "runtime/error.h"

namespace rulemill::algebra {

using runtime::InputError;
using ParameterKind = syntax::Parameter::Kind;

std::vector<ParameterValue> domain(const syntax::Parameter& parameter, std::uint32_t rank) {
  std::vector<ParameterValue> values;
  switch (parameter.kind) {
    case ParameterKind::Words:
      values.assign(parameter.words.begin(), parameter.words.end());
      break;
    case ParameterKind::Int:
      values.assign(parameter.numbers.begin(), parameter.numbers.end());
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

namespace {

bool allowed(const syntax::Parameter& declared, const ParameterValue& value, std::uint32_t rank) {
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
  if (declared.kind == ParameterKind::Int && declared.numbers.empty()) {
    const auto* number = std::get_if<std::int64_t>(&value);
    return number && *number >= 0 && *number < (1 << 20);
  }
  const std::vector<ParameterValue> values = domain(declared, rank);
  return std::ranges::find(values, value) != values.end();
}

std::string expected(const syntax::Parameter& declared, std::uint32_t rank) {
  switch (declared.kind) {
    case ParameterKind::Permutation:
      return "a permutation of 0.." + std::to_string(static_cast<int>(rank) - 1);
    case ParameterKind::Axis:
      return "an axis below the rank " + std::to_string(rank);
    default:
      break;
  }
  std::string text;
  for (const ParameterValue& value : domain(declared, rank)) text += (text.empty() ? "" : ", ") + to_string(value);
  return text.empty() ? "a number from 0 to 1048575" : "one of " + text;
}

}  // namespace

Parameters complete_parameters(const syntax::Operator& op, const Parameters& given,
                               std::span<const std::uint32_t> ranks) {
  const std::string where = "operator '" + op.name + "'";
  for (const auto& [name, value] : given) {
    const syntax::Parameter* declared = op.parameter(name);
    if (!declared || declared->kind == ParameterKind::Size || declared->kind == ParameterKind::Sizes) {
      std::string known;
      for (const syntax::Parameter& parameter : op.parameters) known += (known.empty() ? "" : ", ") + parameter.name;
      throw InputError("", where + " has no parameter '" + name + "'" + (known.empty() ? "" : "; it has " + known));
    }
  }
  Parameters complete;
  const std::uint32_t rank = ranks.empty() ? 0 : ranks[0];
  for (const syntax::Parameter& declared : op.parameters) {
    if (declared.kind == ParameterKind::Size || declared.kind == ParameterKind::Sizes) continue;
    const auto found = given.find(declared.name);
    if (found == given.end() && !declared.default_value) {
      throw InputError("", where + " needs its parameter '" + declared.name + "'");
    }
    const ParameterValue& value = found == given.end() ? *declared.default_value : found->second;
    if (!allowed(declared, value, rank)) {
      throw InputError("",
                       where + ": " + declared.name + "=" + to_string(value) + " is not " + expected(declared, rank));
    }
    complete[declared.name] = value;
  }
  return complete;
}

}  // namespace rulemill::algebra
