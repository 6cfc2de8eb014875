// Expands index expressions and lists of them.
#include "algebra/expansion/expander.h"

#include <fmt/format.h>

#include <algorithm>

namespace rulemill::algebra {
namespace {

/// Collects the packs (name...) in an expression.
void collect_packs(const syntax::Index& node, std::vector<const syntax::Index*>& found) {
  if (node.kind == syntax::Index::Kind::Pack) found.push_back(&node);
  if (node.a) collect_packs(*node.a, found);
  if (node.b) collect_packs(*node.b, found);
}

}  // namespace

/// The common length of the packs in an expression; nullopt without packs.
std::optional<std::uint32_t> Expander::pack_length(const syntax::Index& node) const {
  std::vector<const syntax::Index*> packs;
  collect_packs(node, packs);
  std::optional<std::uint32_t> length;
  for (const syntax::Index* pack : packs) {
    const std::uint32_t elements = length_of(pack->name, pack->place);
    if (length && *length != elements)
      fail(pack->place,
           fmt::format("'{}...' has {} elements, '{}...' has {}", pack->name, elements, packs[0]->name, *length));
    length = elements;
  }
  return length;
}

std::uint32_t Expander::length_of(const std::string& pack, syntax::Place at) const {
  if (const auto known = packs_.find(pack); known != packs_.end()) return known->second;
  if (const auto known = lists_.find(pack); known != lists_.end()) return known->second;
  fail(at, "'" + pack + "' is no pack of indices or dimensions here");
}

/// One comparison, or one for each element of the packs in it.
std::vector<Comparison> Expander::expand_comparison(const syntax::Comparison& syntax) {
  std::optional<std::uint32_t> length = pack_length(*syntax.a);
  const std::optional<std::uint32_t> right = pack_length(*syntax.b);
  if (length && right && *length != *right) fail(syntax.a->place, "the packs that are compared differ in length");
  if (!length) length = right;
  if (!length) return {{syntax.relation, expand_index(*syntax.a), expand_index(*syntax.b)}};
  std::vector<Comparison> result;
  const auto outer = position_;
  for (std::uint32_t k = 0; k < *length; ++k) {
    position_ = k;
    result.push_back({syntax.relation, expand_index(*syntax.a), expand_index(*syntax.b)});
  }
  position_ = outer;
  return result;
}

IndexExprPtr Expander::expand_index(const syntax::Index& node) {
  try {
    return resolve(node);
  } catch (const Overflow& overflow) {
    fail(node.place, overflow.what());
  }
}

IndexExprPtr Expander::resolve(const syntax::Index& node) {
  using Kind = syntax::Index::Kind;
  switch (node.kind) {
    case Kind::Number:
      return make_constant(node.number);
    case Kind::Name:
      return resolve_name(node);
    case Kind::Element:
      return expand_element(node);
    case Kind::If:
      return holds(node.predicate, node.place) ? expand_index(*node.a) : expand_index(*node.b);
    case Kind::ExactDiv:
      return expand_exact_division(node);
    case Kind::Pack:
      return current_pack_element(node);
    case Kind::Product:
      return product(expand_item(*node.item));
    case Kind::Offset:
      return row_major_offset(node);
    default:
      break;
  }
  IndexExprPtr a = expand_index(*node.a), b = expand_index(*node.b);
  switch (node.kind) {
    case Kind::Add:
      return combine(IndexKind::Add, a, b);
    case Kind::Sub:
      return combine(IndexKind::Sub, a, b);
    case Kind::Mul:
      return combine(IndexKind::Mul, a, b);
    case Kind::Min:
      return combine(IndexKind::Min, a, b);
    case Kind::Max:
      return combine(IndexKind::Max, a, b);
    default:
      break;
  }
  if (!is_positive(*b)) fail(node.b->place, divisor_may_be_zero);
  return combine(node.kind == Kind::FloorDiv ? IndexKind::Div : IndexKind::Mod, a, b);
}

IndexExprPtr Expander::resolve_name(const syntax::Index& node) const {
  const auto found = names_.find(node.name);
  if (found != names_.end()) return found->second;
  if (packs_.contains(node.name))
    fail(node.place, "'" + node.name + "' is a pack: write " + node.name + "... or " + node.name + "[position]");
  fail(node.place, "'" + node.name + "' is no index, size or parameter here");
}

IndexExprPtr Expander::expand_element(const syntax::Index& node) {
  const IndexExprPtr position = expand_index(*node.a);
  if (position->kind != IndexKind::Constant)
    fail(node.place, "the position within '" + node.name + "' must be a number or a parameter");
  const auto found = position->value < 0
                         ? names_.end()
                         : names_.find(element_name(node.name, static_cast<std::uint32_t>(position->value)));
  if (found == names_.end()) {
    if (!packs_.contains(node.name) && !names_.contains(element_name(node.name, 0)))
      fail(node.place, "'" + node.name + "' is no pack of indices or dimensions here");
    fail(node.place, fmt::format("position {} is outside '{}'", position->value, node.name));
  }
  return found->second;
}

IndexExprPtr Expander::expand_exact_division(const syntax::Index& node) {
  IndexExprPtr a = expand_index(*node.a), b = expand_index(*node.b);
  if (!is_positive(*b)) fail(node.b->place, divisor_may_be_zero);
  const bool is_exact_constant =
      a->kind == IndexKind::Constant && b->kind == IndexKind::Constant && a->value % b->value == 0;
  const bool is_stated = std::ranges::any_of(instance_.conditions, [&](const Comparison& condition) {
    return condition.relation == Relation::Eq && is_constant(condition.b, 0) && condition.a->kind == IndexKind::Mod &&
           is_same(*condition.a->a, *a) && is_same(*condition.a->b, *b);
  });
  if (!is_exact_constant && !is_stated && !is_constant(b, 1))
    fail(node.place, "this division may not divide: state 'where … % … = 0' for it, or use floor division '//'");
  return combine(IndexKind::Div, a, b);
}

bool Expander::is_positive(const IndexExpr& expr) const {
  switch (expr.kind) {
    case IndexKind::Constant:
      return expr.value > 0;
    case IndexKind::Size:
      return true;
    case IndexKind::Add:
    case IndexKind::Mul:
    case IndexKind::Min:
      return is_positive(*expr.a) && is_positive(*expr.b);
    case IndexKind::Max:
      return is_positive(*expr.a) || is_positive(*expr.b);
    case IndexKind::Div:
      return is_positive(*expr.a) && std::ranges::any_of(instance_.conditions, [&](const Comparison& condition) {
               return condition.relation == Relation::Eq && is_constant(condition.b, 0) &&
                      condition.a->kind == IndexKind::Mod && is_same(*condition.a->a, *expr.a) &&
                      is_same(*condition.a->b, *expr.b);
             });
    default:
      return false;
  }
}

std::vector<IndexExprPtr> Expander::expand_items(const std::vector<syntax::IndexItem>& list) {
  std::vector<IndexExprPtr> result;
  for (const syntax::IndexItem& item : list) {
    const std::vector<IndexExprPtr> values = expand_item(item);
    result.insert(result.end(), values.begin(), values.end());
  }
  return result;
}

IndexExprPtr Expander::current_pack_element(const syntax::Index& node) const {
  length_of(node.name, node.place);
  if (!position_)
    fail(node.place,
         "'" + node.name + "...' is a list: it may be used in lists of indices or dimensions and in conditions");
  return names_.at(element_name(node.name, *position_));
}

IndexExprPtr Expander::product(const std::vector<IndexExprPtr>& factors) {
  IndexExprPtr result = make_constant(1);
  for (const IndexExprPtr& factor : factors) result = combine(IndexKind::Mul, result, factor);
  return result;
}

/// ((i0 · d1 + i1) · d2 + i2) …
IndexExprPtr Expander::row_major_offset(const syntax::Index& node) const {
  const std::uint32_t length = length_of(node.name, node.place);
  IndexExprPtr result = make_constant(0);
  for (std::uint32_t k = 0; k < length; ++k) {
    const IndexExprPtr& element = names_.at(element_name(node.name, k));
    if (element->kind != IndexKind::Index) fail(node.place, "'" + node.name + "...' is no pack of indices");
    result = combine(IndexKind::Add, combine(IndexKind::Mul, result, extents_[element->slot]), element);
  }
  return result;
}

/// The axes that a parameter names, in ascending order.
std::vector<std::uint32_t> Expander::axes(const std::string& name, syntax::Place at) const {
  const auto* list = std::get_if<std::vector<std::int64_t>>(&parameter(name, at));
  if (list == nullptr) return {axis(name, at)};
  std::vector<std::uint32_t> result(list->begin(), list->end());
  std::ranges::sort(result);
  return result;
}

std::vector<IndexExprPtr> Expander::expand_item(const syntax::IndexItem& item) {
  using Change = syntax::IndexItem::Change;
  if (item.expression) return expand_over_pack(*item.expression, pack_length(*item.expression));
  std::vector<IndexExprPtr> elements;
  const std::uint32_t length = length_of(item.pack, item.place);
  for (std::uint32_t k = 0; k < length; ++k) elements.push_back(names_.at(element_name(item.pack, k)));
  switch (item.change) {
    case Change::None:
      return elements;
    case Change::Unravel:
      try {
        return unravel(item, elements);
      } catch (const Overflow& overflow) {
        fail(item.place, overflow.what());
      }
    case Change::Gather:
    case Change::Scatter:
      return permute(item, elements);
    default:
      return change_axes(item, elements);
  }
}

/// The expression for each of `length` pack elements; once if there is no length.
std::vector<IndexExprPtr> Expander::expand_over_pack(const syntax::Index& node, std::optional<std::uint32_t> length) {
  if (!length) return {expand_index(node)};
  std::vector<IndexExprPtr> result;
  const auto outer = position_;
  for (std::uint32_t k = 0; k < *length; ++k) {
    position_ = k;
    result.push_back(expand_index(node));
  }
  position_ = outer;
  return result;
}

/// Expands pack... with, insert, only or without axes.
std::vector<IndexExprPtr> Expander::change_axes(const syntax::IndexItem& item, std::vector<IndexExprPtr> elements) {
  using Change = syntax::IndexItem::Change;
  const std::vector<std::uint32_t> at = axes(item.parameter, item.place);
  const std::size_t length = elements.size() + (item.change == Change::Insert ? at.size() : 0);
  for (const std::uint32_t axis : at) {
    if (axis >= length) fail(item.place, fmt::format("axis {} is outside '{}'", axis, item.pack));
  }
  std::vector<IndexExprPtr> values;
  if (item.value) {
    const auto value_count = pack_length(*item.value);
    if (value_count && *value_count != at.size())
      fail(item.place, fmt::format("there are {} axes, and {} values", at.size(), *value_count));
    values = expand_over_pack(*item.value, static_cast<std::uint32_t>(at.size()));
  }
  std::vector<IndexExprPtr> result;
  std::size_t next_value = 0, next_element = 0;
  for (std::size_t d = 0; d < length; ++d) {
    const bool is_axis = std::ranges::find(at, d) != at.end();
    if (is_axis && item.value) result.push_back(values[next_value++]);
    const bool is_kept = is_axis ? item.change == Change::Keep : item.change != Change::Keep;
    if (is_kept) result.push_back(elements[next_element]);
    if (!is_axis || item.change != Change::Insert) ++next_element;
  }
  return result;
}

std::vector<IndexExprPtr> Expander::permute(const syntax::IndexItem& item, const std::vector<IndexExprPtr>& elements) {
  const auto& order = list_parameter(item.parameter, item.place);
  if (order.size() != elements.size())
    fail(item.place, "permutation '" + item.parameter + "' and '" + item.pack + "' differ in length");
  std::vector<IndexExprPtr> result(elements.size());
  for (std::size_t k = 0; k < elements.size(); ++k) {
    const auto target = static_cast<std::size_t>(order[k]);
    if (item.change == syntax::IndexItem::Change::Scatter)
      result[target] = elements[k];
    else
      result[k] = elements[target];
  }
  return result;
}

/// p // (d1 · d2 …) , p // (d2 …) % d1, …, p % dn
std::vector<IndexExprPtr> Expander::unravel(const syntax::IndexItem& item, const std::vector<IndexExprPtr>& dims) {
  const IndexExprPtr position = expand_index(*item.value);
  std::vector<IndexExprPtr> result;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    const IndexExprPtr stride = product({dims.begin() + static_cast<std::ptrdiff_t>(k) + 1, dims.end()});
    if (!is_positive(*stride) || !is_positive(*dims[k]))
      fail(item.place, "'" + item.pack + "' is no pack of dimensions");
    IndexExprPtr value = combine(IndexKind::Div, position, stride);
    if (is_constant(dims[k], 1))
      value = make_constant(0);
    else if (k > 0)
      value = combine(IndexKind::Mod, value, dims[k]);
    result.push_back(value);
  }
  return result;
}

}  // namespace rulemill::algebra
