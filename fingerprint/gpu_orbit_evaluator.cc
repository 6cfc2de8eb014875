#include "fingerprint/gpu_orbit_evaluator.h"

#include <algorithm>

#include "runtime/text/error.h"

namespace rulemill::fingerprint {

using enumerate::SignatureId;
using enumerate::TermId;
using enumerate::VariableSet;
using execute::OrbitBatch;
using execute::OrbitMinimum;

execute::ExpandedTerms expanded_terms(const enumerate::Enumerator& enumerator, bool all_terms) {
  const auto& terms = enumerator.terms();
  const auto& symmetry = enumerator.symmetry();
  execute::ExpandedTerms expanded;
  expanded.all_terms = all_terms;
  for (TermId t = 0; t < enumerator.expanded_terms(); ++t) {
    expanded.groups.push_back(terms.group(t));
    expanded.slots.push_back(terms.slot(t));
  }
  static_assert(execute::ExpandedTerms::no_group == enumerate::no_id);
  for (std::size_t s = 0; s < symmetry.renamings().swaps().size(); ++s) {
    const auto swap = static_cast<std::uint8_t>(s);
    for (TermId t = 0; t < enumerator.expanded_terms(); ++t) {
      const TermId image = symmetry.rename(t, {&swap, 1});
      RM_CHECK(!terms.is_extended(t) || terms.group(image) == terms.group(t), "renaming leads out of a group");
      expanded.swapped.push_back(image);
    }
  }
  return expanded;
}

GpuOrbitEvaluator::GpuOrbitEvaluator(const enumerate::Enumerator& enumerator,
                                     std::span<const execute::TypedProgram* const> programs, execute::GpuEvaluator& gpu,
                                     Receiver receiver)
    : enumerator_(enumerator), programs_(programs), receiver_(std::move(receiver)), queue_(gpu.create_batch_queue()) {}

std::uint32_t GpuOrbitEvaluator::renamings(VariableSet variables) {
  const auto [found, added] = renamings_.try_emplace(variables, nullptr);
  if (added) found->second = &enumerator_.symmetry().renamings().of(variables);
  return found->second->count;
}

std::uint32_t GpuOrbitEvaluator::renaming_list(VariableSet variables) {
  const auto [found, added] = renaming_lists_.try_emplace(variables, 0);
  if (!added) return found->second;
  renamings(variables);
  const enumerate::RenamingList& renamings = *renamings_.at(variables);
  std::vector<std::span<const std::uint8_t>> swaps;
  for (std::uint32_t r = 0; r < renamings.count; ++r) swaps.push_back(renamings.swaps_of(r));
  return found->second = queue_->batch().add_renaming_list(swaps);
}

std::uint32_t GpuOrbitEvaluator::restriction(VariableSet variables, VariableSet subset) {
  const auto [found, added] = restrictions_.try_emplace({variables, subset}, 0);
  if (added)
    found->second = queue_->batch().add_restriction(enumerator_.symmetry().renamings().restriction(variables, subset));
  return found->second;
}

OrbitBatch::Growth GpuOrbitEvaluator::growth(VariableSet variables, std::span<const TermId> arguments) {
  const auto& terms = enumerator_.terms();
  OrbitBatch::Growth more;
  more.items = renamings(variables);
  // An upper bound: every list counts as new, with one swap for each variable.
  const auto words = [&](VariableSet of) {
    return execute::words_before_swaps + std::uint64_t{renamings(of)} * renamings_.at(of)->variables.size();
  };
  more.renaming_words = words(variables);
  for (const TermId t : arguments) {
    if (!is_transient(t)) continue;
    const VariableSet inner = terms.variables(t);
    more.renaming_words += words(inner) + more.items;
    if (transients_.contains(t)) continue;
    ++more.transient;
    more.transient_items += renamings(inner);
    more.arena_pairs += (renamings(inner) + execute::warp_width) * enumerator_.types().elements(terms.type(t));
  }
  return more;
}

std::uint32_t GpuOrbitEvaluator::transient(TermId t) {
  const auto [found, added] = transients_.try_emplace(t, 0);
  if (!added) return found->second;
  const auto& terms = enumerator_.terms();
  const auto n = terms.node(t);
  const SignatureId signature = terms.signature(n);
  const OrbitBatch::Node node{signature,
                              enumerator_.signatures().is_commutative(signature),
                              renaming_list(terms.variables(t)),
                              terms.arguments(n),
                              {}};
  return found->second = queue_->batch().add_transient(node, terms.output(t));
}

void GpuOrbitEvaluator::add_node(SignatureId signature, std::span<const TermId> arguments, std::uint64_t row) {
  VariableSet variables = 0;
  for (const TermId t : arguments) variables |= enumerator_.terms().variables(t);
  if (!queue_->fits(growth(variables, arguments))) {
    flush();
    queue_->fits(growth(variables, arguments));
  }
  Row pending{row, signature, {}};
  std::ranges::copy(arguments, pending.arguments.begin());
  std::array<std::uint32_t, enumerate::max_arity> operands{}, inner{};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    operands[i] = arguments[i];
    if (!is_transient(arguments[i])) continue;
    operands[i] = execute::transient_bit | transient(arguments[i]);
    inner[i] = restriction(variables, enumerator_.terms().variables(arguments[i]));
  }
  queue_->batch().add_row({signature, enumerator_.signatures().is_commutative(signature), renaming_list(variables),
                           std::span(operands).first(arguments.size()), std::span(inner).first(arguments.size())});
  rows_[queue_->slot()].push_back(pending);
}

void GpuOrbitEvaluator::flush() {
  queue_->submit();
  renaming_lists_.clear();
  restrictions_.clear();
  transients_.clear();
  // The slot to be filled next may still be in flight.
  if (queue_->is_in_flight(queue_->slot())) receive(queue_->slot());
  queue_->batch().clear();
}

void GpuOrbitEvaluator::receive(std::size_t slot) {
  const std::span<const OrbitMinimum> minima = queue_->collect(slot);
  std::size_t next = 0;
  for (const Row& row : rows_[slot]) {
    const execute::Program& program = programs_[row.signature]->program;
    const auto arguments = std::span(row.arguments).first(program.inputs);
    products_ += minima[next].orbit_size * program.products;
    for (std::size_t o = 0; o < program.outputs.size(); ++o) {
      const OrbitMinimum& minimum = minima[next++];
      receiver_(row.row + o, row.signature, arguments, minimum.orbit_size,
                {minimum.fingerprint, minimum.renaming, minimum.distinct_values, minimum.symmetries});
    }
  }
  rows_[slot].clear();
}

void GpuOrbitEvaluator::finish() {
  if (!queue_->batch().empty()) flush();
  const std::size_t last = 1 - queue_->slot();
  if (queue_->is_in_flight(last)) receive(last);
}

}  // namespace rulemill::fingerprint
