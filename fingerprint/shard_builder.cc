#include "fingerprint/shard_builder.h"

#include <algorithm>
#include <map>

namespace rulemill::fingerprint {

using enumerate::no_id;
using enumerate::SignatureId;
using enumerate::TermId;

ShardBuilder::ShardBuilder(const enumerate::Profile& profile, const LevelRunner& runner) : runner_(runner) {
  const auto& signatures = runner.enumerator().signatures();
  std::map<const algebra::Instance*, std::uint16_t> numbers;
  for (SignatureId s = 0; s < signatures.size(); ++s) {
    const enumerate::Signature& signature = signatures[s];
    const auto [found, added] = numbers.try_emplace(signature.instance, static_cast<std::uint16_t>(numbers.size()));
    if (added) {
      dictionary_.instances.push_back(
          {signature.instance->operator_name, signature.instance->parameters, *signature.ranks});
    }
    instance_.push_back(found->second);
    sizes_width_ = std::max(sizes_width_, static_cast<std::uint32_t>(signature.sizes.size()));
    most_outputs_ = std::max<std::uint64_t>(most_outputs_, signature.outputs.size());
  }
  for (enumerate::TypeId t = 0; t < runner.enumerator().types().size(); ++t) {
    dictionary_.types.push_back(runner.enumerator().types().shape(t));
  }
  dictionary_.degrees = runner.degree_bounds();
  for (const enumerate::Variable& variable : profile.variables) dictionary_.variables.push_back(variable.name);
}

ShardBuilder::Rows ShardBuilder::rows_of_terms(std::uint64_t first, std::uint64_t last) const {
  const std::uint64_t known = runner_.enumerator().terms().terms();
  if (last <= known) return {};
  const std::uint64_t first_row = std::max(first, known) - known;
  // A node whose first output lies in the shard before is evaluated here, too.
  return {first_row - std::min<std::uint64_t>(first_row, most_outputs_ - 1), last - known};
}

ShardBuilder::Part ShardBuilder::part(Rows rows) const {
  Part part{rows, {}};
  part.range.resize(rows.first, rows.last - rows.first + most_outputs_ - 1, runner_.enumerator().arity_stride());
  return part;
}

std::uint64_t ShardBuilder::evaluate(Part& part) const {
  const auto [first, last] = part.rows;
  return first < last ? runner_.evaluate(first, last, part.range) : 0;
}

ShardBuilder::Work ShardBuilder::build(std::uint64_t first, std::uint64_t last, const Part& part,
                                       TermRows& rows) const {
  const auto& enumerator = runner_.enumerator();
  const std::uint64_t known = enumerator.terms().terms();
  rows.first = first;
  rows.arguments_width = enumerator.arity_stride();
  rows.sizes_width = sizes_width_;
  rows.resize(last - first);
  for (std::uint64_t t = first; t < std::min(last, known); ++t) known_row(static_cast<TermId>(t), t - first, rows);
  if (last <= known) return {};

  const std::uint64_t first_row = std::max(first, known) - known;
  const std::uint64_t begin = part.rows.first;
  const RowRange& range = part.range;
  Work work;
  std::uint64_t node = enumerator.terms().nodes() + enumerator.nodes_before(begin) - 1;
  for (std::uint64_t r = begin, output = 0; r < part.rows.last; ++r) {
    const SignatureId s = range.signatures[r - begin];
    if (s == no_id) continue;  // an output of a node that begins before the part
    const enumerate::Signature& signature = enumerator.signatures()[s];
    const bool starts = output == 0;
    node += starts ? 1 : 0;
    if (r >= first_row) {
      const std::size_t row = known + r - first;
      describe(s, enumerator.level(), output, range.arguments.data() + (r - begin) * enumerator.arity_stride(), row,
               rows);
      rows.node[row] = static_cast<std::uint32_t>(node);
      rows.orbit[row] = static_cast<std::uint32_t>(known + r);
      rows.images[row] = range.images[r - begin];
      set_print(range.prints[r - begin], row, rows);
      work.nodes += starts ? range.images[r - begin] : 0;
      work.terms += range.images[r - begin];
    }
    output = output + 1 == signature.outputs.size() ? 0 : output + 1;
  }
  return work;
}

void ShardBuilder::set_print(const OrbitPrint& print, std::size_t row, TermRows& rows) {
  rows.renaming[row] = print.renaming;
  rows.values[row] = print.values;
  rows.symmetries[row] = print.symmetries;
  rows.fingerprint[2 * row] = print.print.high;
  rows.fingerprint[2 * row + 1] = print.print.low;
}

void ShardBuilder::describe(SignatureId s, std::uint32_t level, std::uint64_t output, const TermId* arguments,
                            std::size_t row, TermRows& rows) const {
  const enumerate::Signature& signature = runner_.enumerator().signatures()[s];
  rows.level[row] = static_cast<std::uint8_t>(level);
  rows.output[row] = static_cast<std::uint8_t>(output);
  rows.type[row] = signature.outputs[output];
  rows.instance[row] = instance_[s];
  std::copy_n(arguments, signature.arguments.size(),
              rows.arguments.begin() + static_cast<std::ptrdiff_t>(row * rows.arguments_width));
  for (std::size_t i = 0; i < signature.sizes.size(); ++i) {
    rows.sizes[row * rows.sizes_width + i] = static_cast<std::uint32_t>(signature.sizes[i]);
  }
}

void ShardBuilder::known_row(TermId t, std::size_t row, TermRows& rows) const {
  const auto& terms = runner_.enumerator().terms();
  if (!terms.is_variable(t)) {
    const enumerate::NodeId n = terms.node(t);
    describe(terms.signature(n), terms.level(t), terms.output(t), terms.arguments(n).data(), row, rows);
    rows.node[row] = n;
  }
  rows.type[row] = terms.type(t);
  rows.orbit[row] = runner_.orbits()[t];
  const bool named = t < runner_.enumerator().named_terms();
  rows.images[row] = named ? 1 : runner_.images()[terms.node(t)];
  set_print(runner_.prints()[t], row, rows);
}

}  // namespace rulemill::fingerprint
