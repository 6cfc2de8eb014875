// Index expressions, and lists of them.
#include "algebra/language/expander.h"

namespace rulemill::algebra {

namespace {

/// The packs that an expression takes element by element.
void collect_packs(const syntax::Index& node, std::vector<const syntax::Index*>& found) {
  if (node.kind == syntax::Index::Kind::Pack) found.push_back(&node);
  if (node.a) collect_packs(*node.a, found);
  if (node.b) collect_packs(*node.b, found);
}

}  // namespace

/// How many elements it stands for; nothing for an expression without packs.
std::optional<std::uint32_t> Expander::pack_length(const syntax::Index& node) const {
  std::vector<const syntax::Index*> packs;
  collect_packs(node, packs);
  std::optional<std::uint32_t> length;
  for (const syntax::Index* pack : packs) {
    const std::uint32_t own = length_of(pack->name, pack->place);
    if (length && *length != own) {
      fail(pack->place, "'" + pack->name + "...' has " + std::to_string(own) + " elements, '" + packs[0]->name +
                            "...' has " + std::to_string(*length));
    }
    length = own;
  }
  return length;
}

std::uint32_t Expander::length_of(const std::string& pack, syntax::Place at) const {
  if (const auto known = packs_.find(pack); known != packs_.end()) return known->second;
  if (const auto known = lists_.find(pack); known != lists_.end()) return known->second;
  fail(at, "'" + pack + "' is no pack of indices or dimensions here");
}

/// One comparison, or one for each element of the packs in it.
std::vector<Comparison> Expander::comparisons(const syntax::Comparison& syntax) {
  std::optional<std::uint32_t> length = pack_length(*syntax.a);
  const std::optional<std::uint32_t> right = pack_length(*syntax.b);
  if (length && right && *length != *right) fail(syntax.a->place, "the packs that are compared differ in length");
  if (!length) length = right;
  if (!length) return {{syntax.relation, index(*syntax.a), index(*syntax.b)}};
  std::vector<Comparison> result;
  const auto outer = position_;
  for (std::uint32_t k = 0; k < *length; ++k) {
    position_ = k;
    result.push_back({syntax.relation, index(*syntax.a), index(*syntax.b)});
  }
  position_ = outer;
  return result;
}

IndexExprPtr Expander::index(const syntax::Index& node) {
  try {
    return resolved(node);
  } catch (const Overflow& overflow) {
    fail(node.place, overflow.what());
  }
}

IndexExprPtr Expander::resolved(const syntax::Index& node) {
  using Kind = syntax::Index::Kind;
  switch (node.kind) {
    case Kind::Number:
      return constant(node.number);
    case Kind::Name:
      return lookup(node);
    case Kind::Element:
      return element(node);
    case Kind::If:
      return chosen(node.choice, node.place) ? index(*node.a) : index(*node.b);
    case Kind::Exact:
      return exact_quotient(node);
    case Kind::Pack:
      return pack_at_position(node);
    case Kind::Product:
      return product(entry_values(*node.entry));
    case Kind::Offset:
      return offset(node);
    default:
      break;
  }
  IndexExprPtr a = index(*node.a), b = index(*node.b);
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
  if (!positive(*b))
    fail(node.b->place, "this divisor may be zero: divide by sizes, positive numbers and their products");
  return combine(node.kind == Kind::Floor ? IndexKind::Div : IndexKind::Mod, a, b);
}

IndexExprPtr Expander::lookup(const syntax::Index& node) const {
  const auto found = names_.find(node.name);
  if (found != names_.end()) return found->second;
  if (packs_.contains(node.name))
    fail(node.place, "'" + node.name + "' is a pack: write " + node.name + "... or " + node.name + "[position]");
  fail(node.place, "'" + node.name + "' is no index, size or parameter here");
}

IndexExprPtr Expander::element(const syntax::Index& node) {
  const IndexExprPtr position = index(*node.a);
  if (position->kind != IndexKind::Constant)
    fail(node.place, "the position within '" + node.name + "' must be a number or a parameter");
  const auto found = position->value < 0
                         ? names_.end()
                         : names_.find(pack_element(node.name, static_cast<std::uint32_t>(position->value)));
  if (found == names_.end()) {
    if (!packs_.contains(node.name) && !names_.contains(pack_element(node.name, 0))) {
      fail(node.place, "'" + node.name + "' is no pack of indices or dimensions here");
    }
    fail(node.place, "position " + std::to_string(position->value) + " is outside '" + node.name + "'");
  }
  return found->second;
}

IndexExprPtr Expander::exact_quotient(const syntax::Index& node) {
  IndexExprPtr a = index(*node.a), b = index(*node.b);
  if (!positive(*b))
    fail(node.b->place, "this divisor may be zero: divide by sizes, positive numbers and their products");
  const bool folds = a->kind == IndexKind::Constant && b->kind == IndexKind::Constant && a->value % b->value == 0;
  const bool stated = std::ranges::any_of(instance_.conditions, [&](const Comparison& condition) {
    return condition.relation == Relation::Eq && is_constant(condition.b, 0) && condition.a->kind == IndexKind::Mod &&
           same(*condition.a->a, *a) && same(*condition.a->b, *b);
  });
  if (!folds && !stated && !is_constant(b, 1)) {
    fail(node.place, "this division may not divide: state 'where … % … = 0' for it, or use floor division '//'");
  }
  return combine(IndexKind::Div, a, b);
}

bool Expander::positive(const IndexExpr& expr) const {
  switch (expr.kind) {
    case IndexKind::Constant:
      return expr.value > 0;
    case IndexKind::Size:
      return true;
    case IndexKind::Add:
    case IndexKind::Mul:
    case IndexKind::Min:
      return positive(*expr.a) && positive(*expr.b);
    case IndexKind::Max:
      return positive(*expr.a) || positive(*expr.b);
    case IndexKind::Div:
      return positive(*expr.a) && std::ranges::any_of(instance_.conditions, [&](const Comparison& condition) {
               return condition.relation == Relation::Eq && is_constant(condition.b, 0) &&
                      condition.a->kind == IndexKind::Mod && same(*condition.a->a, *expr.a) &&
                      same(*condition.a->b, *expr.b);
             });
    default:
      return false;
  }
}

std::vector<IndexExprPtr> Expander::entries(const std::vector<syntax::Entry>& list) {
  std::vector<IndexExprPtr> result;
  for (const syntax::Entry& entry : list) {
    const std::vector<IndexExprPtr> part = entry_values(entry);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

IndexExprPtr Expander::pack_at_position(const syntax::Index& node) const {
  length_of(node.name, node.place);
  if (!position_)
    fail(node.place,
         "'" + node.name + "...' is a list: it may stand in lists of indices or dimensions and in conditions");
  return names_.at(pack_element(node.name, *position_));
}

IndexExprPtr Expander::product(const std::vector<IndexExprPtr>& factors) {
  IndexExprPtr result = constant(1);
  for (const IndexExprPtr& factor : factors) result = combine(IndexKind::Mul, result, factor);
  return result;
}

/// ((i0 · d1 + i1) · d2 + i2) …
IndexExprPtr Expander::offset(const syntax::Index& node) const {
  const std::uint32_t length = length_of(node.name, node.place);
  IndexExprPtr result = constant(0);
  for (std::uint32_t k = 0; k < length; ++k) {
    const IndexExprPtr& element = names_.at(pack_element(node.name, k));
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

std::vector<IndexExprPtr> Expander::entry_values(const syntax::Entry& entry) {
  using Change = syntax::Entry::Change;
  if (entry.single) return repeated(*entry.single, pack_length(*entry.single));
  std::vector<IndexExprPtr> elements;
  const std::uint32_t length = length_of(entry.pack, entry.place);
  for (std::uint32_t k = 0; k < length; ++k) elements.push_back(names_.at(pack_element(entry.pack, k)));
  switch (entry.change) {
    case Change::None:
      return elements;
    case Change::Of:
      try {
        return indices_of(entry, elements);
      } catch (const Overflow& overflow) {
        fail(entry.place, overflow.what());
      }
    case Change::Gather:
    case Change::Scatter:
      return permuted(entry, elements);
    default:
      return changed(entry, elements);
  }
}

/// The expression once, or once for each of `length`.
std::vector<IndexExprPtr> Expander::repeated(const syntax::Index& node, std::optional<std::uint32_t> length) {
  if (!length) return {index(node)};
  std::vector<IndexExprPtr> result;
  const auto outer = position_;
  for (std::uint32_t k = 0; k < *length; ++k) {
    position_ = k;
    result.push_back(index(node));
  }
  position_ = outer;
  return result;
}

/// pack... with, insert, only or without axes.
std::vector<IndexExprPtr> Expander::changed(const syntax::Entry& entry, std::vector<IndexExprPtr> elements) {
  using Change = syntax::Entry::Change;
  const std::vector<std::uint32_t> at = axes(entry.by, entry.place);
  const std::size_t length = elements.size() + (entry.change == Change::Insert ? at.size() : 0);
  for (const std::uint32_t axis : at) {
    if (axis >= length) fail(entry.place, "axis " + std::to_string(axis) + " is outside '" + entry.pack + "'");
  }
  std::vector<IndexExprPtr> values;
  if (entry.value) {
    const auto own = pack_length(*entry.value);
    if (own && *own != at.size()) {
      fail(entry.place, "there are " + std::to_string(at.size()) + " axes, and " + std::to_string(*own) + " values");
    }
    values = repeated(*entry.value, static_cast<std::uint32_t>(at.size()));
  }
  std::vector<IndexExprPtr> result;
  std::size_t next_value = 0, next_element = 0;
  for (std::size_t d = 0; d < length; ++d) {
    const bool here = std::ranges::find(at, d) != at.end();
    if (here && entry.value) result.push_back(values[next_value++]);
    const bool taken = here ? entry.change == Change::Only : entry.change != Change::Only;
    if (taken) result.push_back(elements[next_element]);
    if (!here || entry.change != Change::Insert) ++next_element;
  }
  return result;
}

std::vector<IndexExprPtr> Expander::permuted(const syntax::Entry& entry, const std::vector<IndexExprPtr>& elements) {
  const auto& order = permutation(entry.by, entry.place);
  if (order.size() != elements.size())
    fail(entry.place, "permutation '" + entry.by + "' and '" + entry.pack + "' differ in length");
  std::vector<IndexExprPtr> result(elements.size());
  for (std::size_t k = 0; k < elements.size(); ++k) {
    const auto target = static_cast<std::size_t>(order[k]);
    if (entry.change == syntax::Entry::Change::Scatter)
      result[target] = elements[k];
    else
      result[k] = elements[target];
  }
  return result;
}

/// p // (d1 · d2 …) , p // (d2 …) % d1, …, p % dn
std::vector<IndexExprPtr> Expander::indices_of(const syntax::Entry& entry, const std::vector<IndexExprPtr>& dims) {
  const IndexExprPtr position = index(*entry.value);
  std::vector<IndexExprPtr> result;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    const IndexExprPtr below = product({dims.begin() + static_cast<std::ptrdiff_t>(k) + 1, dims.end()});
    if (!positive(*below) || !positive(*dims[k])) fail(entry.place, "'" + entry.pack + "' is no pack of dimensions");
    IndexExprPtr value = combine(IndexKind::Div, position, below);
    if (is_constant(dims[k], 1))
      value = constant(0);
    else if (k > 0)
      value = combine(IndexKind::Mod, value, dims[k]);
    result.push_back(value);
  }
  return result;
}

}  // namespace rulemill::algebra
