#include "fingerprint/orbit_evaluator.h"

#include <algorithm>

#include "runtime/error.h"

namespace rulemill::fingerprint {

using enumerate::RenamingList;
using enumerate::SignatureId;
using enumerate::TermId;
using enumerate::VariableSet;

OrbitEvaluator::OrbitEvaluator(const enumerate::Enumerator& enumerator,
                               std::span<const CompiledSignature* const> compiled, bool apart, WaveRunner& runner,
                               Receiver receiver)
    : enumerator_(enumerator),
      compiled_(compiled),
      apart_(apart),
      runner_(runner),
      batch_(runner.batch()),
      receiver_(std::move(receiver)) {}

void OrbitEvaluator::node(SignatureId signature, std::span<const TermId> arguments, std::uint64_t row) {
  Row made;
  made.row = row;
  made.signature = signature;
  std::ranges::copy(arguments, made.arguments.begin());
  VariableSet variables = 0;
  for (const TermId t : arguments) {
    variables |= enumerator_.terms().variables(t);
    if (t >= enumerator_.named_terms() && !passing_.contains(t)) add_passing(t);
  }
  expected_images_ += enumerator_.symmetry().renamings().of(variables).count;
  rows_.push_back(made);
  if (expected_images_ >= batch_.nodes || arena_pairs_ >= batch_.arena_pairs) flush();
}

void OrbitEvaluator::add_passing(TermId t) {
  const auto& terms = enumerator_.terms();
  Passing& passing = passing_[t];
  passing.variables = terms.variables(t);
  passing.elements = static_cast<std::uint32_t>(enumerator_.types().elements(terms.type(t)));
  passing.place = arena_pairs_;
  const std::uint32_t count = enumerator_.symmetry().renamings().of(passing.variables).count;
  arena_pairs_ += std::uint64_t{(count + block_width - 1) / block_width} * passing.elements * block_width;
  passing_order_.push_back(t);
}

std::uint64_t OrbitEvaluator::place(const Passing& passing, std::uint32_t renaming) const {
  return passing.place + std::uint64_t{renaming / block_width} * passing.elements * block_width +
         renaming % block_width;
}

void OrbitEvaluator::compute_passing() {
  const auto& terms = enumerator_.terms();
  const auto& symmetry = enumerator_.symmetry();
  wave_.clear();
  prints_.clear();
  for (const TermId t : passing_order_) {
    Passing& passing = passing_.at(t);
    const RenamingList& list = symmetry.renamings().of(passing.variables);
    const auto n = terms.node(t);
    const auto arguments = terms.arguments(n);
    const Program& program = compiled_[terms.signature(n)]->program;
    passing.first = wave_.size();
    for (std::uint32_t r = 0; r < list.count; ++r) {
      WaveNode node;
      node.signature = terms.signature(n);
      node.print = static_cast<std::uint32_t>(prints_.size());
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        node.arguments[i] = TensorRef::term(symmetry.rename(arguments[i], list.swaps_of(r)));
      }
      if (enumerator_.signatures().families()[enumerator_.signatures()[node.signature].family].commutative &&
          node.arguments[1].term() < node.arguments[0].term()) {
        std::swap(node.arguments[0], node.arguments[1]);
      }
      node.keep_at = place(passing, r);
      node.keep_output = terms.output(t);
      wave_.push_back(node);
      prints_.resize(prints_.size() + program.outputs.size());
    }
  }
  runner_.reserve(arena_pairs_);
  runner_.run(wave_, prints_);
  for (const TermId t : passing_order_) {
    Passing& passing = passing_.at(t);
    const std::uint32_t count = symmetry.renamings().of(passing.variables).count;
    const WaveNode* nodes = &wave_[passing.first];
    for (std::uint32_t r = 0; r < count; ++r) {
      std::uint32_t same = 0;
      while (same < r && !(apart_ ? std::ranges::equal(nodes[same].arguments, nodes[r].arguments)
                                  : prints_[nodes[same].print + nodes[same].keep_output] ==
                                        prints_[nodes[r].print + nodes[r].keep_output])) {
        ++same;
      }
      passing.same_as.push_back(same);
    }
  }
}

void OrbitEvaluator::add_images(Row& row) {
  const auto& terms = enumerator_.terms();
  const auto& symmetry = enumerator_.symmetry();
  const Program& program = compiled_[row.signature]->program;
  const enumerate::Signature& signature = enumerator_.signatures()[row.signature];
  const bool commutative = enumerator_.signatures().families()[signature.family].commutative;
  VariableSet variables = 0;
  for (std::uint32_t i = 0; i < program.inputs; ++i) variables |= terms.variables(row.arguments[i]);
  const RenamingList& list = symmetry.renamings().of(variables);
  std::array<const Passing*, enumerate::max_arity> passing{};
  std::array<const std::vector<std::uint32_t>*, enumerate::max_arity> restriction{};
  for (std::uint32_t i = 0; i < program.inputs; ++i) {
    if (row.arguments[i] < enumerator_.named_terms()) continue;
    passing[i] = &passing_.at(row.arguments[i]);
    restriction[i] = &symmetry.renamings().restriction(variables, passing[i]->variables);
  }
  row.first_image = renaming_.size();
  row.first_map = image_of_.size();
  row.first_print = prints_.size();
  for (std::uint32_t r = 0; r < list.count; ++r) {
    WaveNode node;
    for (std::uint32_t i = 0; i < program.inputs; ++i) {
      if (passing[i] != nullptr) {
        const std::uint32_t own = (*restriction[i])[r];
        node.arguments[i] = TensorRef::arena(place(*passing[i], passing[i]->same_as[own]));
      } else {
        node.arguments[i] = TensorRef::term(symmetry.rename(row.arguments[i], list.swaps_of(r)));
      }
    }
    if (commutative && node.arguments[1].bits() < node.arguments[0].bits()) {
      std::swap(node.arguments[0], node.arguments[1]);
    }
    const std::size_t images = renaming_.size() - row.first_image;
    std::size_t image = 0;
    for (; image < images; ++image) {
      const TensorRef* known = &image_arguments_[(row.first_image + image) * enumerate::max_arity];
      if (std::equal(std::begin(node.arguments), std::end(node.arguments), known)) break;
    }
    image_of_.push_back(static_cast<std::uint32_t>(image));
    if (image < images) continue;
    renaming_.push_back(r);
    image_arguments_.insert(image_arguments_.end(), std::begin(node.arguments), std::end(node.arguments));
    node.signature = row.signature;
    node.print = static_cast<std::uint32_t>(prints_.size());
    prints_.resize(prints_.size() + program.outputs.size());
    products_ += program.products;
    wave_.push_back(node);
  }
}

void OrbitEvaluator::flush() {
  if (!passing_order_.empty()) compute_passing();
  wave_.clear();
  prints_.clear();
  renaming_.clear();
  image_of_.clear();
  image_arguments_.clear();
  for (Row& row : rows_) add_images(row);
  runner_.run(wave_, prints_);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const bool last = i + 1 == rows_.size();
    const Program& program = compiled_[row.signature]->program;
    const std::size_t end = last ? renaming_.size() : rows_[i + 1].first_image;
    const std::size_t map_end = last ? image_of_.size() : rows_[i + 1].first_map;
    Orbit orbit;
    orbit.row = row.row;
    orbit.signature = row.signature;
    orbit.arguments = std::span(row.arguments).first(program.inputs);
    orbit.renaming = std::span(renaming_).subspan(row.first_image, end - row.first_image);
    orbit.image_of = std::span(image_of_).subspan(row.first_map, map_end - row.first_map);
    orbit.image_arguments =
        std::span(image_arguments_)
            .subspan(row.first_image * enumerate::max_arity, (end - row.first_image) * enumerate::max_arity);
    orbit.outputs = static_cast<std::uint32_t>(program.outputs.size());
    orbit.prints = std::span(prints_).subspan(row.first_print, orbit.renaming.size() * orbit.outputs);
    receiver_(orbit);
  }
  rows_.clear();
  expected_images_ = 0;
  passing_.clear();
  passing_order_.clear();
  arena_pairs_ = 0;
}

void OrbitEvaluator::finish() {
  if (!rows_.empty()) flush();
}

}  // namespace rulemill::fingerprint
