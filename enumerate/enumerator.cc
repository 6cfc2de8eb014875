#include "enumerate/enumerator.h"

#include <algorithm>
#include <atomic>

#include "enumerate/walker.h"
#include "runtime/error.h"

namespace rulemill::enumerate {

Enumerator::Enumerator(const Profile& profile, algebra::Library& library, bool every_renaming)
    : profile_(profile), signatures_(profile, library, types_), symmetry_(profile, every_renaming) {
  for (const Family& family : signatures_.families()) arity_stride_ = std::max(arity_stride_, family.arity);
  for (const Variable& variable : profile.variables) {
    terms_.extend(terms_.add_variable(types_.intern(variable.shape), variable.role));
  }
  named_terms_ = static_cast<TermId>(terms_.terms());
  symmetry_.begin(terms_);
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

bool Enumerator::fits(const Signature& signature, std::uint32_t argument, TermId t) const {
  if (!(signatures_.families()[signature.family].allowed_kinds[argument] >> terms_.kind(t) & 1)) return false;
  for (const RequiredPosition& required : signature.required) {
    if (required.argument != argument) continue;
    const Positions& positions = terms_.positions(t);
    if (required.axis >= positions.size()) return false;
    if (!std::ranges::binary_search(positions[required.axis], required.position)) return false;
  }
  return true;
}

void Enumerator::index_users() {
  first_user_.assign(terms_.nodes() + 1, 0);
  for (TermId t = 0; t < named_terms_; ++t) {
    if (!terms_.is_extended(t)) continue;
    for (const NodeId n : terms_.closure_of_term(t)) ++first_user_[n + 1];
  }
  for (std::size_t n = 0; n < terms_.nodes(); ++n) first_user_[n + 1] += first_user_[n];
  users_.resize(first_user_.back());
  std::vector<std::uint64_t> next(first_user_.begin(), first_user_.end() - 1);
  for (TermId t = 0; t < named_terms_; ++t) {
    if (!terms_.is_extended(t)) continue;
    for (const NodeId n : terms_.closure_of_term(t)) users_[next[n]++] = t;
  }
}

void Enumerator::index_openings() {
  unary_.assign(types_.size(), {});
  openings_.assign(types_.size(), {});
  const auto& families = signatures_.families();
  for (std::uint32_t f = 0; f < families.size(); ++f) {
    if (families[f].arity == 1) {
      for (const Completion& completion : signatures_.completions(f, 0, {}))
        unary_[completion.type].push_back(completion.signature);
    }
    if (families[f].arity != 2) continue;
    for (TypeId type = 0; type < types_.size(); ++type) {
      for (const std::uint32_t open : {1U, 0U}) {
        if (open == 0 && families[f].commutative) continue;
        const auto& completions = signatures_.completions(f, open, {&type, 1});
        if (!completions.empty()) openings_[type].push_back({f, open, &completions});
      }
    }
  }
}

void Enumerator::count_units(const ParallelFor& parallel_for, const Sum& sum) {
  // Rows and nodes of each unit, then the signatures that occur.
  std::vector<std::uint64_t> counts(2 * units_.size() + signatures_.size(), 0);
  used_.assign(signatures_.size(), 0);
  constexpr std::size_t chunk = 256;
  const std::size_t chunks = (units_.size() + chunk - 1) / chunk;
  parallel_for(chunks, [&](std::size_t c) {
    Walker walker(*this);
    for (std::size_t u = c * chunk; u < std::min(units_.size(), (c + 1) * chunk); ++u) {
      const LevelCounts here = walker.count(units_[u]);
      counts[2 * u] = here.terms;
      counts[2 * u + 1] = here.nodes;
    }
  });
  std::copy(used_.begin(), used_.end(), counts.end() - static_cast<std::ptrdiff_t>(used_.size()));
  if (sum) counts = sum(counts);
  for (std::size_t u = 0; u < units_.size(); ++u) {
    units_[u].first_row = counts[2 * u];
    units_[u].first_node = counts[2 * u + 1];
  }
  for (std::size_t s = 0; s < used_.size(); ++s) used_[s] = counts[2 * units_.size() + s] != 0 ? 1 : 0;
}

LevelCounts Enumerator::begin_level(std::uint32_t level, const ParallelFor& parallel_for, const Sum& sum) {
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
  index_openings();
  // Arguments that share no node with the primary are on half of the level or below.
  symmetry_.tabulate(terms_, first_of_level_[std::min<std::size_t>((level - 1) / 2 + 1, level)]);

  units_.clear();
  if (level == 1) units_.push_back({});
  for (TermId t = 0; t < terms_.terms(); ++t) {
    const bool large_enough = terms_.level(t) * arity_stride_ >= level - 1;
    if (large_enough && terms_.is_extended(t) && symmetry_.is_canonical(t)) units_.push_back({t, 0, 0});
  }
  count_units(parallel_for, sum);
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
  Walker walker(*this);
  return unit->first_node + walker.count_nodes(*unit, row);
}

void Enumerator::add_terms(SignatureId s, std::span<const TermId> arguments, std::span<const NodeId> below) {
  const Signature& signature = signatures_[s];
  std::uint8_t role = 0;
  std::vector<const Positions*> positions;
  for (const TermId t : arguments) {
    role = std::max<std::uint8_t>(role, terms_.kind(t) / 2);
    positions.push_back(&terms_.positions(t));
  }
  terms_.add_node(s, arguments, below);
  for (std::size_t o = 0; o < signature.outputs.size(); ++o) {
    const Positions here =
        output_positions(*signature.facts, o, types_.shape(signature.outputs[o]), signature.slots, positions);
    terms_.add_output(static_cast<std::uint8_t>(o), signature.outputs[o], role, terms_.intern_positions(here));
  }
}

void Enumerator::end_level(const NamedNodes& nodes, bool all) {
  const auto first_term = static_cast<TermId>(terms_.terms());
  std::vector<NodeId> below, renamed;
  for (std::size_t orbit = 0; orbit < nodes.signatures.size(); ++orbit) {
    const Signature& signature = signatures_[nodes.signatures[orbit]];
    const auto arguments_of = [&](std::uint32_t image) {
      return std::span(nodes.arguments).subspan(std::size_t{image} * arity_stride_, signature.arguments.size());
    };
    const std::uint32_t first = nodes.first_image[orbit], last = nodes.first_image[orbit + 1];
    below = union_of(arguments_of(first));
    VariableSet variables = 0;
    for (const TermId t : arguments_of(first)) variables |= terms_.variables(t);
    const RenamingList& list = symmetry_.renamings().of(variables);
    const auto first_node = static_cast<NodeId>(terms_.nodes());
    // The closure of a renamed node is the renamed closure: as many nodes, shared in the same way.
    for (std::uint32_t image = first; image < last; ++image) {
      renamed.clear();
      for (const NodeId n : below) renamed.push_back(symmetry_.rename_node(n, list.swaps_of(nodes.renaming[image])));
      std::ranges::sort(renamed);
      add_terms(nodes.signatures[orbit], arguments_of(image), renamed);
    }
    for (TermId t = terms_.first_term(first_node); t < terms_.terms(); ++t) {
      terms_.set_representative(t, nodes.representatives[t - first_term]);
      if (all || terms_.representative(t) == t) terms_.extend(t);
    }
    symmetry_.add_orbit(terms_, first_node, signatures_.families()[signature.family].commutative, all);
  }
  named_terms_ = static_cast<TermId>(terms_.terms());
  symmetry_.find_canonical(terms_, first_term);
}

void Enumerator::end_level(const CanonicalNodes& nodes, bool all) {
  RM_CHECK(nodes.signatures.size() == rows_ && nodes.is_new.size() == rows_, "a level ends with all of its rows");
  for (std::uint64_t row = 0; row < rows_;) {
    const Signature& signature = signatures_[nodes.signatures[row]];
    const auto arguments = std::span(nodes.arguments).subspan(row * arity_stride_, signature.arguments.size());
    const auto first = static_cast<TermId>(terms_.terms());
    add_terms(nodes.signatures[row], arguments, union_of(arguments));
    for (TermId t = first; t < terms_.terms(); ++t, ++row) {
      if (!all && !nodes.is_new[row]) continue;
      terms_.extend(t);
      symmetry_.add_canonical(terms_, t, nodes.fixing[row]);
    }
  }
}

}  // namespace rulemill::enumerate
