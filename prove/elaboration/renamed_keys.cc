#include "prove/elaboration/renamed_keys.h"

#include <algorithm>
#include <span>

namespace rulemill::prove {

using check::Atom;
using check::Atoms;
using check::Poly;

namespace {

// Each part of a key starts with its kind, and the number of its shape tells its length.
enum Part : std::uint32_t { Inequality, Equality, Goal, Value };

std::uint32_t kind_of(const check::Guard& guard) { return guard.equality ? Equality : Inequality; }

}  // namespace

std::size_t RenamedKeys::Hash::operator()(const Key& key) const {
  std::uint64_t hash = key.size();
  for (const std::uint32_t word : key) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

RenamedKeys::Key RenamedKeys::key(const check::Obligation& obligation) {
  start();
  add(obligation.given);
  if (obligation.goal) {
    key_.push_back(Goal);
    add(kind_of(*obligation.goal), obligation.goal->poly);
  }
  return key_;
}

RenamedKeys::Key RenamedKeys::key(const check::Guards& given, const Poly& poly) {
  start();
  add(given);
  add(Value, poly);
  return key_;
}

void RenamedKeys::start() {
  key_.clear();
  order_.clear();
}

void RenamedKeys::add(std::uint32_t kind, const Poly& poly) {
  const NumberedShape& known = shape(poly);
  key_.push_back(kind);
  key_.push_back(known.number);
  for (const Atom atom : known.bound) {
    const auto found = std::ranges::find(order_, atom);
    key_.push_back(static_cast<std::uint32_t>(found - order_.begin()));
    if (found == order_.end()) order_.push_back(atom);
  }
}

void RenamedKeys::add(const check::Guards& guards) {
  const std::size_t first = key_.size();
  std::vector<std::pair<std::size_t, std::size_t>> parts;  // of key_: first word, end
  for (const check::Guard& guard : guards) {
    const std::size_t begin = key_.size();
    add(kind_of(guard), guard.poly);
    parts.emplace_back(begin, key_.size());
  }
  const auto words = [&](const std::pair<std::size_t, std::size_t>& part) {
    return std::span(key_).subspan(part.first, part.second - part.first);
  };
  std::ranges::sort(
      parts, [&](const auto& a, const auto& b) { return std::ranges::lexicographical_compare(words(a), words(b)); });
  Key sorted;
  for (const auto& part : parts) sorted.insert(sorted.end(), words(part).begin(), words(part).end());
  std::ranges::copy(sorted, key_.begin() + static_cast<std::ptrdiff_t>(first));
}

const RenamedKeys::NumberedShape& RenamedKeys::shape(const Poly& poly) {
  const auto [found, is_new] = shapes_.try_emplace(poly);
  if (!is_new) return found->second;
  Shape described = describe(poly);
  const auto number =
      numbers_.try_emplace(std::move(described.text), static_cast<std::uint32_t>(numbers_.size())).first;
  return found->second = {number->second, std::move(described.bound)};
}

/// Joins parts in the order of their texts. Among equal texts the order of the parts decides, which depends on names;
/// then renamed polynomials may have different keys.
RenamedKeys::Shape RenamedKeys::join(std::vector<Shape> parts, char separator) {
  std::ranges::stable_sort(parts, {}, &Shape::text);
  Shape result;
  for (const Shape& part : parts) {
    result.text += part.text + separator;
    result.bound.insert(result.bound.end(), part.bound.begin(), part.bound.end());
  }
  return result;
}

RenamedKeys::Shape RenamedKeys::describe(const Poly& poly) {
  std::vector<Shape> terms;
  for (const Poly::Term& term : poly.terms()) terms.push_back(describe(term));
  return join(std::move(terms), '+');
}

RenamedKeys::Shape RenamedKeys::describe(const Poly::Term& term) {
  std::vector<Shape> atoms;
  for (const Atom atom : term.monomial) atoms.push_back(describe(atom));
  Shape result = join(std::move(atoms), '*');
  result.text = std::to_string(term.coefficient) + ":" + result.text;
  return result;
}

RenamedKeys::Shape RenamedKeys::describe(Atom atom) {
  if (atoms_.kind(atom) == Atoms::Kind::Bound) return {"#", {atom}};
  if (!atoms_.is_compound(atom)) return {std::to_string(static_cast<std::uint32_t>(atom)), {}};
  Shape result = describe(atoms_.left(atom));
  const Shape right = describe(atoms_.right(atom));
  result.text = "(" + std::to_string(static_cast<int>(atoms_.kind(atom))) + " " + result.text + "," + right.text + ")";
  result.bound.insert(result.bound.end(), right.bound.begin(), right.bound.end());
  return result;
}

}  // namespace rulemill::prove
