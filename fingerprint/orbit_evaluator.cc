#include "fingerprint/orbit_evaluator.h"

#include <algorithm>

#include "execute/real_values.h"
#include "runtime/error.h"

namespace rulemill::fingerprint {

using enumerate::RenamingList;
using enumerate::SignatureId;
using enumerate::TermId;
using enumerate::VariableSet;
using execute::block_width;
using execute::Program;
using execute::TensorRef;
using execute::WaveNode;

static_assert(enumerate::max_arity <= execute::most_inputs);

OrbitEvaluator::OrbitEvaluator(const enumerate::Enumerator& enumerator,
                               std::span<const execute::TypedProgram* const> programs, bool all_terms,
                               execute::Evaluator& runner, Receiver receiver)
    : enumerator_(enumerator),
      programs_(programs),
      all_terms_(all_terms),
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
  passing.elements =
      static_cast<std::uint32_t>(enumerator_.types().elements(terms.type(t))) * execute::points_of(runner_.domain());
  passing.place = arena_pairs_;
  const std::uint32_t count = enumerator_.symmetry().renamings().of(passing.variables).count;
  arena_pairs_ += std::uint64_t{(count + block_width - 1) / block_width} * passing.elements * block_width;
  passing_order_.push_back(t);
}

std::uint64_t OrbitEvaluator::place(const Passing& passing, std::uint32_t renaming) const {
  return passing.place + execute::tensor_offset(renaming, passing.elements);
}

bool OrbitEvaluator::is_commutative(SignatureId signature) const {
  return enumerator_.signatures().families()[enumerator_.signatures()[signature].family].commutative;
}

TensorRef OrbitEvaluator::tensor(ImageArgument argument) const {
  if (argument.in_arena()) return TensorRef::arena(argument.place());
  const TermId t = argument.term();
  return TensorRef::stored(enumerator_.terms().group(t), enumerator_.terms().slot(t));
}

WaveNode OrbitEvaluator::wave_node(SignatureId signature, const ImageArguments& arguments) {
  const Program& program = programs_[signature]->program;
  WaveNode node;
  node.program = signature;
  node.print = static_cast<std::uint32_t>(prints_.size());
  for (std::uint32_t i = 0; i < program.inputs; ++i) node.arguments[i] = tensor(arguments[i]);
  prints_.resize(prints_.size() + program.outputs.size());
  return node;
}

void OrbitEvaluator::compute_passing() {
  const auto& terms = enumerator_.terms();
  const auto& symmetry = enumerator_.symmetry();
  wave_.clear();
  prints_.clear();
  image_arguments_.clear();
  for (const TermId t : passing_order_) {
    Passing& passing = passing_.at(t);
    const RenamingList& list = symmetry.renamings().of(passing.variables);
    const auto n = terms.node(t);
    const auto arguments = terms.arguments(n);
    const bool commutative = is_commutative(terms.signature(n));
    passing.first = wave_.size();
    for (std::uint32_t r = 0; r < list.count; ++r) {
      ImageArguments& renamed = image_arguments_.emplace_back();
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        renamed[i] = ImageArgument::term(symmetry.rename(arguments[i], list.swaps_of(r)));
      }
      if (commutative && renamed[1] < renamed[0]) std::swap(renamed[0], renamed[1]);
      WaveNode node = wave_node(terms.signature(n), renamed);
      node.keep_at = place(passing, r);
      node.keep_output = terms.output(t);
      wave_.push_back(node);
    }
  }
  runner_.reserve(arena_pairs_);
  runner_.run(wave_, prints_);
  for (const TermId t : passing_order_) find_equal_renamings(passing_.at(t));
}

void OrbitEvaluator::find_equal_renamings(Passing& passing) const {
  const auto same_term = [&](std::size_t a, std::size_t b) {
    if (all_terms_) return image_arguments_[a] == image_arguments_[b];
    return prints_[wave_[a].print + wave_[a].keep_output] == prints_[wave_[b].print + wave_[b].keep_output];
  };
  const std::uint32_t count = enumerator_.symmetry().renamings().of(passing.variables).count;
  for (std::uint32_t r = 0; r < count; ++r) {
    std::uint32_t same = 0;
    while (same < r && !same_term(passing.first + same, passing.first + r)) ++same;
    passing.same_as.push_back(same);
  }
}

void OrbitEvaluator::add_images(Row& row) {
  const auto& symmetry = enumerator_.symmetry();
  const Program& program = programs_[row.signature]->program;
  const bool commutative = is_commutative(row.signature);
  VariableSet variables = 0;
  for (std::uint32_t i = 0; i < program.inputs; ++i) variables |= enumerator_.terms().variables(row.arguments[i]);
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
    ImageArguments arguments;
    for (std::uint32_t i = 0; i < program.inputs; ++i) {
      arguments[i] = passing[i] == nullptr
                         ? ImageArgument::term(symmetry.rename(row.arguments[i], list.swaps_of(r)))
                         : ImageArgument::arena(place(*passing[i], passing[i]->same_as[(*restriction[i])[r]]));
    }
    if (commutative && arguments[1] < arguments[0]) std::swap(arguments[0], arguments[1]);
    const auto first = image_arguments_.begin() + static_cast<std::ptrdiff_t>(row.first_image);
    const auto image = std::find(first, image_arguments_.end(), arguments);
    image_of_.push_back(static_cast<std::uint32_t>(image - first));
    if (image != image_arguments_.end()) continue;
    renaming_.push_back(r);
    image_arguments_.push_back(arguments);
    wave_.push_back(wave_node(row.signature, arguments));
    products_ += program.products;
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
  show_orbits();
  rows_.clear();
  expected_images_ = 0;
  passing_.clear();
  passing_order_.clear();
  arena_pairs_ = 0;
}

void OrbitEvaluator::show_orbits() const {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const bool last = i + 1 == rows_.size();
    const Program& program = programs_[row.signature]->program;
    const std::size_t end = last ? renaming_.size() : rows_[i + 1].first_image;
    const std::size_t map_end = last ? image_of_.size() : rows_[i + 1].first_map;
    Orbit orbit;
    orbit.row = row.row;
    orbit.signature = row.signature;
    orbit.arguments = std::span(row.arguments).first(program.inputs);
    orbit.renaming = std::span(renaming_).subspan(row.first_image, end - row.first_image);
    orbit.image_of = std::span(image_of_).subspan(row.first_map, map_end - row.first_map);
    orbit.image_arguments = std::span(image_arguments_).subspan(row.first_image, end - row.first_image);
    orbit.outputs = static_cast<std::uint32_t>(program.outputs.size());
    orbit.prints = std::span(prints_).subspan(row.first_print, orbit.renaming.size() * orbit.outputs);
    receiver_(orbit);
  }
}

void OrbitEvaluator::finish() {
  if (!rows_.empty()) flush();
}

}  // namespace rulemill::fingerprint
