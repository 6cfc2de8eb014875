// Completes the last level but one: its canonical terms alone, shared by the ranks, without values.
#include <algorithm>
#include <unordered_set>

#include "fingerprint/level_runner.h"
#include "runtime/byte_lists.h"

namespace rulemill::fingerprint {

using enumerate::SignatureId;
using enumerate::TermId;
using execute::Fingerprint;

void LevelRunner::exchange(RowRange& rows, enumerate::CanonicalNodes& nodes) const {
  runtime::Bytes mine;
  for (std::size_t row = 0; row < rows.signatures.size(); ++row) {
    if (rows.signatures[row] == enumerate::no_id) continue;
    rows.append(row, mine);
    runtime::append_value(mine, static_cast<std::uint32_t>(nodes.fixing[row].size()));
    runtime::append_bytes(mine, runtime::bytes_of(nodes.fixing[row]));
  }
  for (const runtime::Bytes& part : communicator_.all_gather(mine)) {
    for (runtime::ByteView rest = part; !rest.empty();) {
      const std::size_t row = rows.take(rest);
      const auto fixing = runtime::take_value<std::uint32_t>(rest);
      nodes.fixing[row] = runtime::values_of<std::uint32_t>(runtime::take_bytes(rest, fixing * sizeof(std::uint32_t)));
    }
  }
}

std::uint64_t LevelRunner::evaluate_canonical(std::uint64_t count, RowRange& rows,
                                              enumerate::CanonicalNodes& nodes) const {
  const OrbitEvaluator::Receiver note = [&](const Orbit& orbit) {
    for (std::uint32_t o = 0; o < orbit.outputs; ++o) {
      rows.set(orbit, o);
      for (std::uint32_t r = 1; r < orbit.image_of.size(); ++r) {
        const std::uint32_t image = orbit.image_of[r];
        const bool same =
            image == 0 || (!options_.all_terms && orbit.prints[image * orbit.outputs + o] == orbit.prints[o]);
        if (same) nodes.fixing[orbit.row + o].push_back(r);
      }
    }
  };
  std::atomic<std::uint64_t> products{0};
  share((count + rows_at_once - 1) / rows_at_once, [&](std::size_t c) {
    const std::uint64_t first = c * rows_at_once;
    products += evaluate(first, std::min(count, first + rows_at_once), note);
  });
  return products;
}

void LevelRunner::complete_canonical(std::uint64_t count) {
  enumerate::CanonicalNodes nodes;
  RowRange rows;
  constexpr std::uint64_t bytes_a_row = 3 * sizeof(OrbitPrint) + sizeof(std::vector<std::uint32_t>) + 64;
  check_memory(count * (bytes_a_row + enumerator_.arity_stride() * sizeof(TermId)), "the rows");
  rows.resize(0, count, enumerator_.arity_stride());
  nodes.fixing.resize(count);
  const std::uint64_t products = evaluate_canonical(count, rows, nodes);
  if (communicator_.size() > 1) exchange(rows, nodes);
  LevelFigures& figures = figures_.back();
  figures.products = communicator_.sum(products);
  std::unordered_set<Fingerprint, FingerprintHash> known;
  known.reserve(prints_.size() + count);
  for (const OrbitPrint& print : prints_) known.insert(print.print);
  const auto first_term = static_cast<TermId>(enumerator_.terms().terms());
  images_.assign(enumerator_.terms().nodes(), 0);
  for (std::uint64_t row = 0; row < count; ++row) {
    const bool is_new = known.insert(rows.prints[row].print).second;
    nodes.is_new.push_back(is_new);
    figures.new_values += is_new ? rows.prints[row].values : 0;
    figures.terms += rows.images[row];
    prints_.push_back(rows.prints[row]);
    orbits_.push_back(static_cast<TermId>(first_term + row));
  }
  nodes.signatures = std::move(rows.signatures);
  nodes.arguments = std::move(rows.arguments);
  enumerator_.end_level(nodes, options_.all_terms);
  for (std::uint64_t row = 0; row < count; row += enumerator_.signatures()[nodes.signatures[row]].outputs.size()) {
    images_.push_back(rows.images[row]);
    figures.nodes += rows.images[row];
  }
}

}  // namespace rulemill::fingerprint
