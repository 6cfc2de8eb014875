#include "fingerprint/device_orbits.h"

#include <algorithm>

#include "runtime/error.h"

namespace rulemill::fingerprint {

using enumerate::SignatureId;
using enumerate::TermId;
using enumerate::VariableSet;
using execute::OrbitBatch;
using execute::OrbitMinimum;

execute::NamedTerms named_terms(const enumerate::Enumerator& enumerator, bool all_terms) {
  const auto& terms = enumerator.terms();
  const auto& symmetry = enumerator.symmetry();
  execute::NamedTerms named;
  named.all_terms = all_terms;
  for (TermId t = 0; t < enumerator.named_terms(); ++t) {
    named.groups.push_back(terms.group(t));
    named.slots.push_back(terms.slot(t));
  }
  static_assert(execute::NamedTerms::no_group == enumerate::no_id);
  for (std::size_t s = 0; s < symmetry.renamings().swaps().size(); ++s) {
    const auto swap = static_cast<std::uint8_t>(s);
    for (TermId t = 0; t < enumerator.named_terms(); ++t) {
      const TermId image = symmetry.rename(t, {&swap, 1});
      RM_CHECK(!terms.is_extended(t) || terms.group(image) == terms.group(t), "renaming leads out of a group");
      named.swapped.push_back(image);
    }
  }
  return named;
}

DeviceOrbits::DeviceOrbits(const enumerate::Enumerator& enumerator,
                           std::span<const execute::TypedProgram* const> programs, execute::Device& device,
                           Receiver receiver)
    : enumerator_(enumerator), programs_(programs), receiver_(std::move(receiver)), lane_(device.lane()) {}

bool DeviceOrbits::is_commutative(SignatureId signature) const {
  return enumerator_.signatures().families()[enumerator_.signatures()[signature].family].commutative;
}

std::uint32_t DeviceOrbits::renamings(VariableSet set) {
  const auto [found, added] = renamings_.try_emplace(set, nullptr);
  if (added) found->second = &enumerator_.symmetry().renamings().of(set);
  return found->second->count;
}

std::uint32_t DeviceOrbits::list(VariableSet set) {
  const auto [found, added] = lists_.try_emplace(set, 0);
  if (!added) return found->second;
  renamings(set);
  const enumerate::RenamingList& renamings = *renamings_.at(set);
  std::vector<std::span<const std::uint8_t>> swaps;
  for (std::uint32_t r = 0; r < renamings.count; ++r) swaps.push_back(renamings.swaps_of(r));
  return found->second = lane_->batch().add_list(swaps);
}

std::uint32_t DeviceOrbits::numbers(VariableSet set, VariableSet part) {
  const auto [found, added] = numbers_.try_emplace({set, part}, 0);
  if (added) found->second = lane_->batch().add_numbers(enumerator_.symmetry().renamings().restriction(set, part));
  return found->second;
}

OrbitBatch::More DeviceOrbits::needs(VariableSet set, std::span<const TermId> arguments) {
  const auto& terms = enumerator_.terms();
  OrbitBatch::More more;
  more.items = renamings(set);
  // Lists are counted as new ones, with a swap for each variable.
  const auto words = [&](VariableSet of) {
    return execute::words_before_swaps + std::uint64_t{renamings(of)} * renamings_.at(of)->variables.size();
  };
  more.names = words(set);
  for (const TermId t : arguments) {
    if (!is_passing(t)) continue;
    const VariableSet own = terms.variables(t);
    more.names += words(own) + more.items;
    if (passing_.contains(t)) continue;
    ++more.passing;
    more.passing_items += renamings(own);
    more.arena_pairs += (renamings(own) + execute::warp_width) * enumerator_.types().elements(terms.type(t));
  }
  return more;
}

std::uint32_t DeviceOrbits::passing(TermId t) {
  const auto [found, added] = passing_.try_emplace(t, 0);
  if (!added) return found->second;
  const auto& terms = enumerator_.terms();
  const auto n = terms.node(t);
  const SignatureId signature = terms.signature(n);
  const OrbitBatch::Node node{signature, is_commutative(signature), list(terms.variables(t)), terms.arguments(n), {}};
  return found->second = lane_->batch().add_passing(node, terms.output(t));
}

void DeviceOrbits::node(SignatureId signature, std::span<const TermId> arguments, std::uint64_t row) {
  VariableSet set = 0;
  for (const TermId t : arguments) set |= enumerator_.terms().variables(t);
  if (!lane_->fits(needs(set, arguments))) {
    flush();
    lane_->fits(needs(set, arguments));
  }
  Row made{row, signature, {}};
  std::ranges::copy(arguments, made.arguments.begin());
  std::array<std::uint32_t, enumerate::max_arity> taken{}, own{};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    taken[i] = arguments[i];
    if (!is_passing(arguments[i])) continue;
    taken[i] = execute::passing_bit | passing(arguments[i]);
    own[i] = numbers(set, enumerator_.terms().variables(arguments[i]));
  }
  lane_->batch().add_row({signature, is_commutative(signature), list(set), std::span(taken).first(arguments.size()),
                          std::span(own).first(arguments.size())});
  rows_[lane_->slot()].push_back(made);
}

void DeviceOrbits::flush() {
  lane_->submit();
  lists_.clear();
  numbers_.clear();
  passing_.clear();
  // The slot to be filled next may still be under way.
  if (lane_->is_under_way(lane_->slot())) receive(lane_->slot());
  lane_->batch().clear();
}

void DeviceOrbits::receive(std::size_t slot) {
  const std::span<const OrbitMinimum> minima = lane_->collect(slot);
  std::size_t next = 0;
  for (const Row& row : rows_[slot]) {
    const execute::Program& program = programs_[row.signature]->program;
    const auto arguments = std::span(row.arguments).first(program.inputs);
    products_ += minima[next].images * program.products;
    for (std::size_t o = 0; o < program.outputs.size(); ++o) {
      const OrbitMinimum& minimum = minima[next++];
      receiver_(row.row + o, row.signature, arguments, minimum.images,
                {minimum.print, minimum.renaming, minimum.values, minimum.symmetries});
    }
  }
  rows_[slot].clear();
}

void DeviceOrbits::finish() {
  if (!lane_->batch().empty()) flush();
  const std::size_t last = 1 - lane_->slot();
  if (lane_->is_under_way(last)) receive(last);
}

}  // namespace rulemill::fingerprint
