#include "fingerprint/shard_builder.h"

#include <algorithm>
#include <map>

namespace rulemill::fingerprint {

using enumerate::no_id;
using enumerate::SignatureId;
using enumerate::TermId;

ShardBuilder::ShardBuilder(const enumerate::Profile& profile, const LevelRunner& runner) : runner_(runner) {
  const auto& signatures = runner.enumerator().signatures();
  std::map<const algebra::OperatorInstance*, std::uint16_t> numbers;
  for (SignatureId s = 0; s < signatures.size(); ++s) {
    const enumerate::Signature& signature = signatures[s];
    const auto [found, added] = numbers.try_emplace(signature.instance, static_cast<std::uint16_t>(numbers.size()));
    if (added)
      dictionary_.instances.push_back(
          {signature.instance->operator_name, signature.instance->parameters, *signature.ranks});
    instance_.push_back(found->second);
    sizes_width_ = std::max(sizes_width_, static_cast<std::uint32_t>(signature.sizes.size()));
    max_outputs_ = std::max<std::uint64_t>(max_outputs_, signature.outputs.size());
  }
  for (enumerate::TypeId t = 0; t < runner.enumerator().types().size(); ++t)
    dictionary_.types.push_back(runner.enumerator().types().shape(t));
  dictionary_.degrees = runner.degree_bounds();
  for (const enumerate::Variable& variable : profile.variables) dictionary_.variables.push_back(variable.name);
}

ShardBuilder::RowInterval ShardBuilder::rows_of_terms(std::uint64_t first, std::uint64_t last) const {
  const std::uint64_t known = runner_.enumerator().terms().terms();
  if (last <= known) return {};
  const std::uint64_t first_row = std::max(first, known) - known;
  // Also evaluates a node whose first output is in the shard before.
  return {first_row - std::min<std::uint64_t>(first_row, max_outputs_ - 1), last - known};
}

ShardBuilder::Chunk ShardBuilder::allocate(RowInterval rows) const {
  Chunk chunk{rows, {}};
  chunk.results.resize(rows.first, rows.last - rows.first + max_outputs_ - 1, runner_.enumerator().arity_stride());
  return chunk;
}

std::uint64_t ShardBuilder::evaluate(Chunk& chunk) const {
  const auto [first, last] = chunk.rows;
  return first < last ? runner_.evaluate(first, last, chunk.results) : 0;
}

ShardBuilder::Counts ShardBuilder::build(std::uint64_t first, std::uint64_t last, const Chunk& chunk,
                                         ShardRows& rows) const {
  const auto& enumerator = runner_.enumerator();
  const std::uint64_t known = enumerator.terms().terms();
  rows.first = first;
  rows.arguments_width = enumerator.arity_stride();
  rows.sizes_width = sizes_width_;
  rows.resize(last - first);
  for (std::uint64_t t = first; t < std::min(last, known); ++t)
    copy_stored_row(static_cast<TermId>(t), t - first, rows);
  if (last <= known) return {};

  const std::uint64_t first_row = std::max(first, known) - known;
  const std::uint64_t begin = chunk.rows.first;
  const EvaluatedRows& results = chunk.results;
  Counts counts;
  std::uint64_t node = enumerator.terms().nodes() + enumerator.nodes_before(begin) - 1;
  for (std::uint64_t r = begin, output = 0; r < chunk.rows.last; ++r) {
    const SignatureId s = results.signatures[r - begin];
    if (s == no_id) continue;  // an output of a node whose first output is in an earlier chunk
    const enumerate::Signature& signature = enumerator.signatures()[s];
    const bool starts = output == 0;
    node += starts ? 1 : 0;
    if (r >= first_row) {
      const std::size_t row = known + r - first;
      set_node(s, enumerator.level(), output, results.arguments.data() + (r - begin) * enumerator.arity_stride(), row,
               rows);
      rows.node[row] = static_cast<std::uint32_t>(node);
      rows.orbit[row] = static_cast<std::uint32_t>(known + r);
      rows.orbit_size[row] = results.orbit_sizes[r - begin];
      set_fingerprint(results.fingerprints[r - begin], row, rows);
      counts.nodes += starts ? results.orbit_sizes[r - begin] : 0;
      counts.terms += results.orbit_sizes[r - begin];
    }
    output = output + 1 == signature.outputs.size() ? 0 : output + 1;
  }
  return counts;
}

void ShardBuilder::set_fingerprint(const OrbitFingerprint& fingerprint, std::size_t row, ShardRows& rows) {
  rows.renaming[row] = fingerprint.renaming;
  rows.distinct_values[row] = fingerprint.distinct_values;
  rows.symmetries[row] = fingerprint.symmetries;
  rows.fingerprint[2 * row] = fingerprint.minimum.high;
  rows.fingerprint[2 * row + 1] = fingerprint.minimum.low;
}

void ShardBuilder::set_node(SignatureId s, std::uint32_t level, std::uint64_t output, const TermId* arguments,
                            std::size_t row, ShardRows& rows) const {
  const enumerate::Signature& signature = runner_.enumerator().signatures()[s];
  rows.level[row] = static_cast<std::uint8_t>(level);
  rows.output[row] = static_cast<std::uint8_t>(output);
  rows.type[row] = signature.outputs[output];
  rows.instance[row] = instance_[s];
  std::copy_n(arguments, signature.arguments.size(),
              rows.arguments.begin() + static_cast<std::ptrdiff_t>(row * rows.arguments_width));
  for (std::size_t i = 0; i < signature.sizes.size(); ++i)
    rows.sizes[row * rows.sizes_width + i] = static_cast<std::uint32_t>(signature.sizes[i]);
}

void ShardBuilder::copy_stored_row(TermId t, std::size_t row, ShardRows& rows) const {
  const auto& terms = runner_.enumerator().terms();
  if (!terms.is_variable(t)) {
    const enumerate::NodeId n = terms.node(t);
    set_node(terms.signature(n), terms.level(t), terms.output(t), terms.arguments(n).data(), row, rows);
    rows.node[row] = n;
  }
  rows.type[row] = terms.type(t);
  rows.orbit[row] = runner_.orbits()[t];
  const bool named = t < runner_.enumerator().expanded_terms();
  rows.orbit_size[row] = named ? 1 : runner_.orbit_sizes()[terms.node(t)];
  set_fingerprint(runner_.fingerprints()[t], row, rows);
}

}  // namespace rulemill::fingerprint
