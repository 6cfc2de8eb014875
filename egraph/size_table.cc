#include "egraph/size_table.h"

#include <algorithm>

#include "runtime/text/error.h"

namespace rulemill::egraph {

using algebra::Atom;
using algebra::InstanceId;
using algebra::Poly;
using algebra::Relation;
using algebra::Shape;

namespace {

constexpr std::uint32_t untyped = 0xfffffffe;

}  // namespace

SizeId SizeTable::intern(const Poly& poly) {
  const std::optional<Atom> atom = poly.atom();
  if (atom) {
    const auto index = static_cast<std::uint32_t>(*atom);
    if (index < by_atom_.size() && by_atom_[index] != KeyTable::none) return SizeId{by_atom_[index]};
  }
  std::vector<SizeId>& bucket = by_hash_[poly.hash()];
  for (const SizeId known : bucket) {
    if (this->poly(known) == poly) return known;
  }
  const SizeId id{static_cast<std::uint32_t>(polys_.size())};
  polys_.push_back(poly);
  bucket.push_back(id);
  if (atom) {
    const auto index = static_cast<std::uint32_t>(*atom);
    if (index >= by_atom_.size()) by_atom_.resize(index + 1, KeyTable::none);
    by_atom_[index] = static_cast<std::uint32_t>(id);
  }
  return id;
}

ShapeId SizeTable::shape(std::span<const SizeId> dims) {
  const std::span<const std::uint32_t> key(reinterpret_cast<const std::uint32_t*>(dims.data()), dims.size());
  return ShapeId{shapes_.insert(key, static_cast<std::uint32_t>(shapes_.size())).first};
}

ShapeId SizeTable::shape(const Shape& dims) {
  std::vector<SizeId> ids;
  ids.reserve(dims.size());
  for (const Poly& dim : dims) ids.push_back(intern(dim));
  return shape(ids);
}

std::span<const SizeId> SizeTable::dims(ShapeId id) const {
  const auto key = shapes_.key(static_cast<std::uint32_t>(id));
  return {reinterpret_cast<const SizeId*>(key.data()), key.size()};
}

Shape SizeTable::polys(ShapeId id) const {
  Shape result;
  for (const SizeId dim : dims(id)) result.push_back(poly(dim));
  return result;
}

void SizeTable::assume(std::vector<Poly> facts) {
  facts_ = std::move(facts);
  key_.clear();
  for (const Poly& fact : facts_) key_.push_back(static_cast<std::uint32_t>(intern(fact)));
  fact_set_ = fact_sets_.insert(key_, static_cast<std::uint32_t>(fact_sets_.size())).first;
}

bool SizeTable::is_nonnegative(const Poly& poly) const {
  if (symbols_->is_nonnegative(poly)) return true;
  return std::ranges::any_of(facts_, [&](const Poly& fact) { return symbols_->is_nonnegative(poly - fact); });
}

bool SizeTable::is_always_positive(SizeId size) {
  const auto index = static_cast<std::uint32_t>(size);
  if (index >= always_positive_.size()) always_positive_.resize(polys_.size(), CachedAnswer::NotComputed);
  CachedAnswer& known = always_positive_[index];
  if (known == CachedAnswer::NotComputed)
    known = symbols_->is_nonnegative(polys_[index] - 1) ? CachedAnswer::Yes : CachedAnswer::No;
  return known == CachedAnswer::Yes;
}

bool SizeTable::holds(Relation relation, SizeId left, SizeId right) {
  if (relation == Relation::Eq) return left == right;
  const Poly& a = poly(left);
  const Poly& b = poly(right);
  switch (relation) {
    case Relation::Ne:
      return is_nonnegative(b - a - 1) || is_nonnegative(a - b - 1);
    case Relation::Lt:
      return is_nonnegative(b - a - 1);
    default:
      return is_nonnegative(b - a);
  }
}

SizeId SizeTable::substitute(SizeId pattern, std::span<const Atom> atoms, std::span<const SizeId> values) {
  key_.assign(1, static_cast<std::uint32_t>(pattern));
  for (const SizeId value : values) key_.push_back(static_cast<std::uint32_t>(value));
  if (const std::uint32_t known = substituted_.find(key_); known != KeyTable::none) return SizeId{known};
  algebra::Substitution substitution;
  for (std::size_t i = 0; i < atoms.size(); ++i) substitution.emplace(atoms[i], poly(values[i]));
  const SizeId result = intern(symbols_->substitute(poly(pattern), substitution));
  substituted_.insert(key_, static_cast<std::uint32_t>(result));
  return result;
}

void SizeTable::roll_back(std::size_t polys) {
  for (; polys_.size() > polys; polys_.pop_back()) {
    by_hash_[polys_.back().hash()].pop_back();
    if (const std::optional<Atom> atom = polys_.back().atom())
      by_atom_[static_cast<std::uint32_t>(*atom)] = KeyTable::none;
  }
  if (always_positive_.size() > polys) always_positive_.resize(polys);
  for (KeyTable* table : {&shapes_, &substituted_, &typed_, &typed_with_facts_, &fact_sets_}) table->clear();
  output_shapes_.clear();
  facts_.clear();
}

std::uint32_t SizeTable::infer_uncached(InstanceId instance, std::span<const ShapeId> arguments,
                                        std::span<const SizeId> sizes, std::span<const Poly> facts) {
  std::vector<Shape> shapes;
  for (const ShapeId argument : arguments) shapes.push_back(polys(argument));
  std::vector<Poly> parameters;
  for (const SizeId size : sizes) parameters.push_back(poly(size));
  const auto outputs = algebra::infer(library_->instance(instance), shapes, parameters, *symbols_, facts);
  if (!outputs) return untyped;
  const auto first = static_cast<std::uint32_t>(output_shapes_.size());
  for (const Shape& output : *outputs) {
    const ShapeId id = shape(output);
    output_shapes_.push_back(id);
  }
  return first;
}

std::optional<std::span<const ShapeId>> SizeTable::infer(InstanceId instance, std::span<const ShapeId> arguments,
                                                         std::span<const SizeId> sizes) {
  key_.assign(1, static_cast<std::uint32_t>(instance));
  for (const ShapeId argument : arguments) key_.push_back(static_cast<std::uint32_t>(argument));
  for (const SizeId size : sizes) key_.push_back(static_cast<std::uint32_t>(size));
  std::uint32_t found = typed_.find(key_);
  if (found == KeyTable::none) found = typed_.insert(key_, infer_uncached(instance, arguments, sizes, {})).first;
  if (found == untyped && !facts_.empty()) {
    key_.push_back(fact_set_);
    found = typed_with_facts_.find(key_);
    if (found == KeyTable::none)
      found = typed_with_facts_.insert(key_, infer_uncached(instance, arguments, sizes, facts_)).first;
  }
  if (found == untyped) return std::nullopt;
  return std::span<const ShapeId>(output_shapes_).subspan(found, library_->instance(instance).outputs.size());
}

}  // namespace rulemill::egraph
