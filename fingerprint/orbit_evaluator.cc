#include "fingerprint/orbit_evaluator.h"

#include <algorithm>

#include "execute/values/real_values.h"
#include "runtime/text/error.h"

namespace rulemill::fingerprint {

using enumerate::RenamingList;
using enumerate::SignatureId;
using enumerate::TermId;
using enumerate::VariableSet;
using execute::BatchNode;
using execute::block_width;
using execute::Program;
using execute::TensorRef;

static_assert(enumerate::max_arity <= execute::max_inputs);

OrbitEvaluator::OrbitEvaluator(const enumerate::Enumerator& enumerator,
                               std::span<const execute::TypedProgram* const> programs, bool all_terms,
                               execute::BatchEvaluator& evaluator, Receiver receiver)
    : enumerator_(enumerator),
      programs_(programs),
      all_terms_(all_terms),
      evaluator_(evaluator),
      batch_size_(evaluator.preferred_batch_size()),
      receiver_(std::move(receiver)) {}

void OrbitEvaluator::add_node(SignatureId signature, std::span<const TermId> arguments, std::uint64_t row) {
  Row pending;
  pending.row = row;
  pending.signature = signature;
  std::ranges::copy(arguments, pending.arguments.begin());
  VariableSet variables = 0;
  for (const TermId t : arguments) {
    variables |= enumerator_.terms().variables(t);
    if (t >= enumerator_.expanded_terms() && !transients_.contains(t)) add_transient(t);
  }
  expected_images_ += enumerator_.symmetry().renamings().of(variables).count;
  rows_.push_back(pending);
  if (expected_images_ >= batch_size_.nodes || arena_pairs_ >= batch_size_.arena_pairs) flush();
}

void OrbitEvaluator::add_transient(TermId t) {
  const auto& terms = enumerator_.terms();
  TransientTerm& transient = transients_[t];
  transient.variables = terms.variables(t);
  transient.elements = static_cast<std::uint32_t>(enumerator_.types().elements(terms.type(t))) *
                       execute::points_per_element(evaluator_.domain());
  transient.arena_offset = arena_pairs_;
  const std::uint32_t count = enumerator_.symmetry().renamings().of(transient.variables).count;
  arena_pairs_ += std::uint64_t{(count + block_width - 1) / block_width} * transient.elements * block_width;
  transient_order_.push_back(t);
}

std::uint64_t OrbitEvaluator::arena_offset(const TransientTerm& transient, std::uint32_t renaming) const {
  return transient.arena_offset + execute::tensor_offset(renaming, transient.elements);
}

TensorRef OrbitEvaluator::tensor(ImageArgument argument) const {
  if (argument.in_arena()) return TensorRef::arena(argument.arena_offset());
  const TermId t = argument.term();
  return TensorRef::stored(enumerator_.terms().group(t), enumerator_.terms().slot(t));
}

BatchNode OrbitEvaluator::make_batch_node(SignatureId signature, const ImageArguments& arguments) {
  const Program& program = programs_[signature]->program;
  BatchNode node;
  node.program = signature;
  node.first_fingerprint = static_cast<std::uint32_t>(fingerprints_.size());
  for (std::uint32_t i = 0; i < program.inputs; ++i) node.arguments[i] = tensor(arguments[i]);
  fingerprints_.resize(fingerprints_.size() + program.outputs.size());
  return node;
}

void OrbitEvaluator::evaluate_transients() {
  const auto& terms = enumerator_.terms();
  const auto& symmetry = enumerator_.symmetry();
  batch_nodes_.clear();
  fingerprints_.clear();
  image_arguments_.clear();
  for (const TermId t : transient_order_) {
    TransientTerm& transient = transients_.at(t);
    const RenamingList& list = symmetry.renamings().of(transient.variables);
    const auto n = terms.node(t);
    const auto arguments = terms.arguments(n);
    const bool commutative = enumerator_.signatures().is_commutative(terms.signature(n));
    transient.first = batch_nodes_.size();
    for (std::uint32_t r = 0; r < list.count; ++r) {
      ImageArguments& renamed = image_arguments_.emplace_back();
      for (std::size_t i = 0; i < arguments.size(); ++i)
        renamed[i] = ImageArgument::term(symmetry.rename(arguments[i], list.swaps_of(r)));
      if (commutative && renamed[1] < renamed[0]) std::swap(renamed[0], renamed[1]);
      BatchNode node = make_batch_node(terms.signature(n), renamed);
      node.keep_at = arena_offset(transient, r);
      node.keep_output = terms.output(t);
      batch_nodes_.push_back(node);
    }
  }
  evaluator_.reserve(arena_pairs_);
  evaluator_.run(batch_nodes_, fingerprints_);
  for (const TermId t : transient_order_) find_equal_renamings(transients_.at(t));
}

void OrbitEvaluator::find_equal_renamings(TransientTerm& transient) const {
  const auto same_term = [&](std::size_t a, std::size_t b) {
    if (all_terms_) return image_arguments_[a] == image_arguments_[b];
    return fingerprints_[batch_nodes_[a].first_fingerprint + batch_nodes_[a].keep_output] ==
           fingerprints_[batch_nodes_[b].first_fingerprint + batch_nodes_[b].keep_output];
  };
  const std::uint32_t count = enumerator_.symmetry().renamings().of(transient.variables).count;
  for (std::uint32_t r = 0; r < count; ++r) {
    std::uint32_t same = 0;
    while (same < r && !same_term(transient.first + same, transient.first + r)) ++same;
    transient.first_equal.push_back(same);
  }
}

void OrbitEvaluator::add_images(Row& row) {
  const auto& symmetry = enumerator_.symmetry();
  const Program& program = programs_[row.signature]->program;
  const bool commutative = enumerator_.signatures().is_commutative(row.signature);
  VariableSet variables = 0;
  for (std::uint32_t i = 0; i < program.inputs; ++i) variables |= enumerator_.terms().variables(row.arguments[i]);
  const RenamingList& list = symmetry.renamings().of(variables);
  std::array<const TransientTerm*, enumerate::max_arity> transient{};
  std::array<const std::vector<std::uint32_t>*, enumerate::max_arity> restriction{};
  for (std::uint32_t i = 0; i < program.inputs; ++i) {
    if (row.arguments[i] < enumerator_.expanded_terms()) continue;
    transient[i] = &transients_.at(row.arguments[i]);
    restriction[i] = &symmetry.renamings().restriction(variables, transient[i]->variables);
  }
  row.first_image = renaming_.size();
  row.first_image_of = image_of_.size();
  row.first_fingerprint = fingerprints_.size();
  for (std::uint32_t r = 0; r < list.count; ++r) {
    ImageArguments arguments;
    for (std::uint32_t i = 0; i < program.inputs; ++i)
      arguments[i] =
          transient[i] == nullptr
              ? ImageArgument::term(symmetry.rename(row.arguments[i], list.swaps_of(r)))
              : ImageArgument::arena(arena_offset(*transient[i], transient[i]->first_equal[(*restriction[i])[r]]));
    if (commutative && arguments[1] < arguments[0]) std::swap(arguments[0], arguments[1]);
    const auto first = image_arguments_.begin() + static_cast<std::ptrdiff_t>(row.first_image);
    const auto image = std::find(first, image_arguments_.end(), arguments);
    image_of_.push_back(static_cast<std::uint32_t>(image - first));
    if (image != image_arguments_.end()) continue;
    renaming_.push_back(r);
    image_arguments_.push_back(arguments);
    batch_nodes_.push_back(make_batch_node(row.signature, arguments));
    products_ += program.products;
  }
}

void OrbitEvaluator::flush() {
  if (!transient_order_.empty()) evaluate_transients();
  batch_nodes_.clear();
  fingerprints_.clear();
  renaming_.clear();
  image_of_.clear();
  image_arguments_.clear();
  for (Row& row : rows_) add_images(row);
  evaluator_.run(batch_nodes_, fingerprints_);
  report_orbits();
  rows_.clear();
  expected_images_ = 0;
  transients_.clear();
  transient_order_.clear();
  arena_pairs_ = 0;
}

void OrbitEvaluator::report_orbits() const {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const bool last = i + 1 == rows_.size();
    const Program& program = programs_[row.signature]->program;
    const std::size_t end = last ? renaming_.size() : rows_[i + 1].first_image;
    const std::size_t map_end = last ? image_of_.size() : rows_[i + 1].first_image_of;
    Orbit orbit;
    orbit.row = row.row;
    orbit.signature = row.signature;
    orbit.arguments = std::span(row.arguments).first(program.inputs);
    orbit.renaming = std::span(renaming_).subspan(row.first_image, end - row.first_image);
    orbit.image_of = std::span(image_of_).subspan(row.first_image_of, map_end - row.first_image_of);
    orbit.image_arguments = std::span(image_arguments_).subspan(row.first_image, end - row.first_image);
    orbit.outputs = static_cast<std::uint32_t>(program.outputs.size());
    orbit.fingerprints = std::span(fingerprints_).subspan(row.first_fingerprint, orbit.renaming.size() * orbit.outputs);
    receiver_(orbit);
  }
}

void OrbitEvaluator::finish() {
  if (!rows_.empty()) flush();
}

OrbitFingerprint orbit_fingerprint(const Orbit& orbit, std::uint32_t output) {
  std::vector<execute::Fingerprint> fingerprints;
  for (std::size_t image = 0; image < orbit.renaming.size(); ++image)
    fingerprints.push_back(orbit.fingerprints[image * orbit.outputs + output]);
  OrbitFingerprint result;
  const auto smallest = std::ranges::min_element(fingerprints);
  result.minimum = *smallest;
  result.renaming = orbit.renaming[static_cast<std::size_t>(smallest - fingerprints.begin())];
  for (auto image = static_cast<std::size_t>(smallest - fingerprints.begin()) + 1; image < fingerprints.size();
       ++image) {
    if (fingerprints[image] == result.minimum && orbit.renaming[image] < 64)
      result.symmetries |= std::uint64_t{1} << orbit.renaming[image];
  }
  std::ranges::sort(fingerprints);
  result.distinct_values =
      static_cast<std::uint32_t>(std::unique(fingerprints.begin(), fingerprints.end()) - fingerprints.begin());
  return result;
}

}  // namespace rulemill::fingerprint
