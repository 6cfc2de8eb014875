#include "algebra/expansion/pack_lengths.h"

#include <algorithm>

namespace rulemill::algebra {
namespace {

/// The spread of an input's pack; null if there is none or it is empty.
const std::vector<std::int64_t>* spread_of(const syntax::InputDim& dim, const Parameters& parameters) {
  const auto found = dim.spread.empty() ? parameters.end() : parameters.find(dim.spread);
  const auto* list = found == parameters.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->second);
  return list == nullptr || list->empty() ? nullptr : list;
}

/// The pack of an input and its number of dimensions.
struct InputPack {
  const syntax::InputDim* pack = nullptr;
  std::uint32_t length = 0;
};
/// nullopt if the rank does not fit the input; a null pack if it has none.
std::optional<InputPack> pack_of(const syntax::Input& input, std::uint32_t rank, const Parameters& parameters) {
  InputPack result;
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
    const auto present = spread->size() - static_cast<std::size_t>(std::ranges::count(*spread, spread_absent));
    if (present != result.length) return std::nullopt;
    result.length = static_cast<std::uint32_t>(spread->size());
  }
  return result;
}

}  // namespace

bool has_explicit_rank(const syntax::Operator& op) {
  return std::ranges::any_of(op.parameters, [&](const syntax::Parameter& parameter) {
    auto has_pack = [&](const syntax::Input& input) {
      return std::ranges::any_of(input.dims,
                                 [&](const auto& dim) { return dim.is_pack && dim.name == parameter.name; });
    };
    return parameter.kind == ParameterKind::Sizes && std::ranges::none_of(op.inputs, has_pack);
  });
}

std::optional<std::map<std::string, std::uint32_t>> pack_lengths(const syntax::Operator& op,
                                                                 std::span<const std::uint32_t> ranks,
                                                                 const Parameters& parameters) {
  std::map<std::string, std::uint32_t> packs;
  std::size_t arity = op.inputs.size();
  for (const syntax::Parameter& parameter : op.parameters) {
    if (parameter.kind != syntax::Parameter::Kind::Sizes || !has_explicit_rank(op)) continue;
    if (arity++ != op.inputs.size() || ranks.size() != arity) return std::nullopt;
    packs[parameter.name] = ranks.back();
  }
  if (ranks.size() != arity) return std::nullopt;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const auto found = pack_of(op.inputs[i], ranks[i], parameters);
    if (!found) return std::nullopt;
    if (found->pack == nullptr) continue;
    const auto [at, is_new] = packs.emplace(found->pack->name, found->length);
    if (!is_new && at->second != found->length) return std::nullopt;
  }
  for (const syntax::Condition& condition : op.conditions) {
    if (condition.except_left.empty()) continue;
    const auto left = packs.find(condition.except_left), right = packs.find(condition.except_right);
    if (left != packs.end() && right != packs.end() && left->second != right->second) return std::nullopt;
  }
  return packs;
}

}  // namespace rulemill::algebra
