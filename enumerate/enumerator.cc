#include "enumerate/enumerator.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "enumerate/walker.h"
#include "runtime/error.h"

namespace rulemill::enumerate {

Enumerator::Enumerator(const Profile& profile, algebra::Library& library)
    : profile_(profile), signatures_(profile, library, types_) {
  for (const Family& family : signatures_.families()) arity_stride_ = std::max(arity_stride_, family.arity);
  for (const Variable& variable : profile.variables) {
    terms_.extend(terms_.add_variable(types_.intern(variable.shape), variable.role));
  }
}

std::vector<NodeId> Enumerator::union_of(std::span<const TermId> terms) const {
  std::vector<NodeId> result;
  for (const TermId t : terms) {
    const auto closure = terms_.closure_of_term(t);
    result.insert(result.end(), closure.begin(), closure.end());
  }
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::uint32_t Enumerator::store_prefix(std::span<const TermId> fixed) {
  prefixes_.insert(prefixes_.end(), fixed.begin(), fixed.end());
  return static_cast<std::uint32_t>(prefixes_.size() - fixed.size());
}

bool Enumerator::has_position(TermId t, const RequiredPosition& required) const {
  const Positions& positions = terms_.positions(t);
  return required.axis < positions.size() && std::ranges::binary_search(positions[required.axis], required.position);
}

bool Enumerator::fixed_fit(const Signature& signature, std::uint32_t open, std::span<const TermId> fixed) const {
  for (std::uint32_t i = 0, f = 0; i < signature.arguments.size(); ++i) {
    if (i == open) continue;
    if (!kind_allowed(signature.family, i, fixed[f])) return false;
    for (const RequiredPosition& required : signature.required) {
      if (required.argument == i && !has_position(fixed[f], required)) return false;
    }
    ++f;
  }
  return true;
}

void Enumerator::add_dense(std::uint32_t family, std::uint32_t open, std::span<const TermId> fixed,
                           std::uint8_t level) {
  std::array<TypeId, max_arity> types{};
  for (std::size_t i = 0; i < fixed.size(); ++i) types[i] = terms_.type(fixed[i]);
  Unit unit;
  unit.open = static_cast<std::uint8_t>(open);
  unit.fixed = static_cast<std::uint8_t>(fixed.size());
  unit.prefix = no_id;
  for (const Completion& completion : signatures_.completions(family, open, std::span(types).first(fixed.size()))) {
    unit.group = terms_.find_group(level, completion.type);
    unit.signature = completion.signature;
    if (unit.group == no_id || !fixed_fit(signatures_[completion.signature], open, fixed)) continue;
    if (unit.prefix == no_id) unit.prefix = store_prefix(fixed);
    units_.push_back(unit);
  }
}

void Enumerator::make_binary_units(TermId fixed) {
  const std::uint32_t level = terms_.level(fixed);
  if (2 * level > level_ - 1) return;
  const auto other = static_cast<std::uint8_t>(level_ - 1 - level);
  for (std::uint32_t f = 0; f < signatures_.families().size(); ++f) {
    const Family& family = signatures_.families()[f];
    if (family.arity != 2) continue;
    add_dense(f, 1, {&fixed, 1}, other);
    if (!family.commutative && other > level) add_dense(f, 0, {&fixed, 1}, other);
  }
}

void Enumerator::make_long_units(std::uint32_t family, std::vector<TermId>& prefix) {
  const std::uint32_t arity = signatures_.families()[family].arity;
  if (prefix.size() + 1 == arity) {
    const std::size_t nodes = union_of(prefix).size();
    add_dense(family, arity - 1, prefix, static_cast<std::uint8_t>(level_ - 1 - nodes));
    if (nodes == 0) return;
    Unit unit;
    unit.sparse = true;
    unit.open = static_cast<std::uint8_t>(arity - 1);
    unit.fixed = static_cast<std::uint8_t>(prefix.size());
    unit.signature = family;
    unit.prefix = store_prefix(prefix);
    units_.push_back(unit);
    return;
  }
  std::array<TypeId, max_arity> types{};
  for (std::size_t i = 0; i < prefix.size(); ++i) types[i] = terms_.type(prefix[i]);
  for (const Group& group : terms_.groups()) {
    types[prefix.size()] = group.type;
    if (!signatures_.may_begin(family, std::span(types).first(prefix.size() + 1))) continue;
    for (const TermId t : group.members) {
      if (!kind_allowed(family, static_cast<std::uint32_t>(prefix.size()), t)) continue;
      prefix.push_back(t);
      if (union_of(prefix).size() < level_) make_long_units(family, prefix);
      prefix.pop_back();
    }
  }
}

void Enumerator::make_units() {
  units_.clear();
  prefixes_.clear();
  const auto& families = signatures_.families();
  for (std::uint32_t f = 0; f < families.size(); ++f) {
    if (families[f].arity == 0 && level_ == 1) {
      Unit unit;
      unit.signature = signatures_.constant(f);
      units_.push_back(unit);
    }
    if (families[f].arity == 1) add_dense(f, 0, {}, static_cast<std::uint8_t>(level_ - 1));
  }
  for (TermId t = 0; t < terms_.terms(); ++t) {
    if (terms_.is_extended(t)) make_binary_units(t);
  }
  for (std::uint32_t f = 0; f < families.size(); ++f) {
    std::vector<TermId> prefix;
    if (families[f].arity > 2) make_long_units(f, prefix);
  }
  const bool binary = std::ranges::any_of(families, [](const Family& family) { return family.arity == 2; });
  for (TermId t = 0; binary && t < terms_.terms(); ++t) {
    if (!terms_.is_extended(t) || terms_.is_variable(t)) continue;
    Unit unit;
    unit.sparse = true;
    unit.signature = no_id;  // every family of two arguments
    unit.fixed = 1;
    unit.prefix = store_prefix({&t, 1});
    units_.push_back(unit);
  }
}

void Enumerator::index_users() {
  first_user_.assign(terms_.nodes() + 1, 0);
  for (TermId t = 0; t < terms_.terms(); ++t) {
    if (!terms_.is_extended(t)) continue;
    for (const NodeId n : terms_.closure_of_term(t)) ++first_user_[n + 1];
  }
  for (std::size_t n = 0; n < terms_.nodes(); ++n) first_user_[n + 1] += first_user_[n];
  users_.resize(first_user_.back());
  std::vector<std::uint64_t> next(first_user_.begin(), first_user_.end() - 1);
  for (TermId t = 0; t < terms_.terms(); ++t) {
    if (!terms_.is_extended(t)) continue;
    for (const NodeId n : terms_.closure_of_term(t)) users_[next[n]++] = t;
  }
}

LevelCounts Enumerator::begin_level(std::uint32_t level, const ParallelFor& parallel_for) {
  level_ = level;
  first_of_level_.resize(level);
  first_of_level_.push_back(static_cast<TermId>(terms_.terms()));
  std::vector<Positions> positions(types_.size());
  for (TermId t = 0; t < terms_.terms(); ++t) {
    const Positions& here = terms_.positions(t);
    if (here.empty() || !terms_.is_extended(t)) continue;
    Positions& all = positions[terms_.type(t)];
    all.resize(here.size());
    for (std::size_t d = 0; d < here.size(); ++d) {
      for (const std::int64_t position : here[d]) {
        const auto at = std::ranges::lower_bound(all[d], position);
        if (at == all[d].end() || *at != position) all[d].insert(at, position);
      }
    }
  }
  signatures_.extend(positions);
  if (level == 1) signatures_.check_variables();
  index_users();
  make_units();

  used_.assign(signatures_.size(), 0);
  constexpr std::size_t chunk = 256;
  parallel_for((units_.size() + chunk - 1) / chunk, [&](std::size_t c) {
    Walker walker(*this);
    for (std::size_t u = c * chunk; u < std::min(units_.size(), (c + 1) * chunk); ++u) {
      const LevelCounts counts = walker.count(units_[u]);
      units_[u].first_row = counts.terms;
      units_[u].first_node = counts.nodes;
    }
  });
  std::erase_if(units_, [](const Unit& unit) { return unit.first_row == 0; });
  LevelCounts total;
  for (Unit& unit : units_) {
    const LevelCounts here{unit.first_node, unit.first_row};
    unit.first_row = total.terms;
    unit.first_node = total.nodes;
    total.terms += here.terms;
    total.nodes += here.nodes;
  }
  rows_ = total.terms;
  return total;
}

std::vector<SignatureId> Enumerator::signatures_in_use() const {
  std::vector<SignatureId> result;
  for (SignatureId s = 0; s < used_.size(); ++s) {
    if (used_[s]) result.push_back(s);
  }
  return result;
}

void Enumerator::mark_used(SignatureId signature) const {
  std::atomic_ref<std::uint8_t>(used_[signature]).store(1, std::memory_order_relaxed);
}

void Enumerator::walk(std::uint64_t first, std::uint64_t last, NodeSink& sink) const {
  Walker walker(*this);
  auto unit = std::ranges::upper_bound(units_, first, {}, &Unit::first_row);
  if (unit != units_.begin()) --unit;
  for (; unit != units_.end() && unit->first_row < last; ++unit) walker.visit(*unit, first, last, sink);
}

std::uint64_t Enumerator::nodes_before(std::uint64_t row) const {
  auto unit = std::ranges::upper_bound(units_, row, {}, &Unit::first_row);
  if (unit == units_.begin()) return 0;
  --unit;
  // Every node of a dense unit has the same outputs; a sparse unit is counted.
  if (!unit->sparse) {
    const std::uint64_t outputs = signatures_[unit->signature].outputs.size();
    return unit->first_node + (row - unit->first_row + outputs - 1) / outputs;
  }
  Walker walker(*this);
  return unit->first_node + walker.count_nodes(*unit, row);
}

void Enumerator::end_level(std::span<const SignatureId> row_signatures, std::span<const TermId> row_arguments,
                           std::span<const TermId> representatives, bool all) {
  RM_CHECK(row_signatures.size() == rows_ && representatives.size() == rows_, "a level ends with all of its rows");
  for (std::uint64_t row = 0; row < rows_;) {
    const Signature& signature = signatures_[row_signatures[row]];
    const auto arguments = row_arguments.subspan(row * arity_stride_, signature.arguments.size());
    std::uint8_t role = 0;
    std::vector<const Positions*> positions;
    for (const TermId t : arguments) {
      role = std::max<std::uint8_t>(role, terms_.kind(t) / 2);
      positions.push_back(&terms_.positions(t));
    }
    terms_.add_node(row_signatures[row], arguments, union_of(arguments));
    for (std::size_t o = 0; o < signature.outputs.size(); ++o, ++row) {
      const Positions here =
          output_positions(*signature.facts, o, types_.shape(signature.outputs[o]), signature.slots, positions);
      const TermId t =
          terms_.add_output(static_cast<std::uint8_t>(o), signature.outputs[o], role, terms_.intern_positions(here));
      terms_.set_representative(t, representatives[row]);
      if (all || representatives[row] == t) terms_.extend(t);
    }
  }
}

}  // namespace rulemill::enumerate
