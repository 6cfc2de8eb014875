// Completes an expanded level, whose terms are stored with all renamings. Ranks share the evaluation; each holds all
// terms, and each node of the cluster holds the values once.
#include <algorithm>
#include <utility>

#include "execute/values/real_values.h"
#include "fingerprint/level_runner.h"
#include "runtime/text/byte_lists.h"

namespace rulemill::fingerprint {

using enumerate::TermId;
using execute::FieldPair;
using execute::Fingerprint;

/// Results of one chunk of rows, orbit by orbit.
struct LevelRunner::ExpandedChunk {
  enumerate::ExpandedNodes nodes;
  std::vector<Fingerprint> fingerprints;             // by node, then output
  std::vector<OrbitFingerprint> orbit_fingerprints;  // by orbit, then output
  std::vector<std::uint32_t> outputs;                // by orbit
  std::uint64_t products = 0;
};

void LevelRunner::add_value_groups() {
  const auto& groups = enumerator_.terms().groups();
  const auto elements = [&](const enumerate::TermGroup& group) {
    return static_cast<std::uint32_t>(enumerator_.types().elements(group.type)) *
           execute::points_per_element(context_.domain);
  };
  std::vector<execute::ValueStore::GroupSize> sizes;
  std::uint64_t bytes_needed = 0;
  for (std::size_t g = values_.groups(); g < groups.size(); ++g) {
    sizes.push_back({groups[g].members.size(), elements(groups[g])});
    bytes_needed += execute::ValueStore::bytes_needed(sizes.back());
  }
  check_memory(bytes_needed / static_cast<std::uint64_t>(communicator_.node().size()), "the values");
  values_.add_groups(sizes);
}

void LevelRunner::evaluate_values(TermId first, TermId last) {
  const auto& terms = enumerator_.terms();
  execute::BatchEvaluator evaluator(programs_, values_, executor_);
  std::array<Fingerprint, 64> unused;
  std::array<const FieldPair*, enumerate::max_arity> arguments{};
  for (TermId t = first; t < last; ++t) {
    if (!terms.is_extended(t)) continue;
    const auto n = terms.node(t);
    const auto inputs = terms.arguments(n);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      arguments[i] = values_.tensor(terms.group(inputs[i]), terms.slot(inputs[i]));
    evaluator.add(terms.signature(n), std::span(arguments).first(inputs.size()), unused.data(),
                  values_.tensor(terms.group(t), terms.slot(t)), terms.output(t));
  }
  evaluator.finish();
}

void LevelRunner::all_gather_values(TermId first_term, const std::vector<std::uint64_t>& evaluated,
                                    const runtime::Communicator& communicator) {
  const auto& terms = enumerator_.terms();
  /// Calls body(values, element count) for each term of a chunk that has values.
  const auto each_tensor = [&](std::size_t chunk, const auto& body) {
    const std::uint64_t begin = first_term + chunk * rows_per_batch;
    const std::uint64_t end = std::min<std::uint64_t>(terms.terms(), begin + rows_per_batch);
    for (auto t = static_cast<TermId>(begin); t < end; ++t) {
      if (terms.is_extended(t)) body(values_.tensor(terms.group(t), terms.slot(t)), values_.elements(terms.group(t)));
    }
  };
  constexpr std::size_t chunks_per_message = 16;  // about 10 MB of values
  for (std::size_t first = 0; first < evaluated.size(); first += chunks_per_message) {
    runtime::Bytes bytes;
    for (std::size_t chunk = first; chunk < std::min(evaluated.size(), first + chunks_per_message); ++chunk) {
      if (evaluated[chunk] == 0) continue;
      runtime::append_value(bytes, std::uint64_t{chunk});
      each_tensor(chunk, [&](const FieldPair* values, std::uint32_t elements) {
        const std::size_t at = bytes.size();
        bytes.resize(at + elements * sizeof(FieldPair));
        for (std::size_t e = 0; e < elements; ++e)
          std::memcpy(bytes.data() + at + e * sizeof(FieldPair), values + e * execute::block_width, sizeof(FieldPair));
      });
    }
    const std::vector<runtime::Bytes> all = communicator.all_gather(bytes);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (rank == static_cast<std::size_t>(communicator.rank())) continue;
      for (runtime::ByteView view = all[rank]; !view.empty();) {
        each_tensor(runtime::take_value<std::uint64_t>(view), [&](FieldPair* values, std::uint32_t elements) {
          const runtime::ByteView received = runtime::take_bytes(view, elements * sizeof(FieldPair));
          for (std::size_t e = 0; e < elements; ++e)
            std::memcpy(values + e * execute::block_width, received.data() + e * sizeof(FieldPair), sizeof(FieldPair));
        });
      }
    }
  }
}

void LevelRunner::exchange_values(TermId first_term, const std::vector<std::uint64_t>& evaluated) {
  if (!values_.is_shared()) return all_gather_values(first_term, evaluated, communicator_);
  const runtime::Communicator& node = communicator_.node();
  if (communicator_.has_other_nodes()) {
    const std::vector<std::uint64_t> evaluated_here = node.sum(evaluated);
    if (const auto leaders = communicator_.leaders()) all_gather_values(first_term, evaluated_here, *leaders);
  }
  node.barrier();
}

void LevelRunner::store_values(TermId first_term) {
  add_value_groups();
  const std::size_t end = enumerator_.terms().terms(),
                    chunks = (end - first_term + rows_per_batch - 1) / rows_per_batch;
  std::vector<std::uint64_t> evaluated(chunks, 0);
  distribute(chunks, [&](std::size_t c) {
    const std::uint64_t first = first_term + c * rows_per_batch;
    evaluate_values(static_cast<TermId>(first),
                    static_cast<TermId>(std::min<std::uint64_t>(end, first + rows_per_batch)));
    evaluated[c] = 1;
  });
  if (communicator_.size() > 1) exchange_values(first_term, evaluated);
}

void LevelRunner::evaluate_expanded(std::uint64_t first, std::uint64_t last, ExpandedChunk& chunk) const {
  const std::uint32_t stride = enumerator_.arity_stride();
  const OrbitEvaluator::Receiver append = [&](const Orbit& orbit) {
    chunk.nodes.signatures.push_back(orbit.signature);
    chunk.nodes.first_image.push_back(static_cast<std::uint32_t>(chunk.nodes.renaming.size()));
    chunk.nodes.renaming.insert(chunk.nodes.renaming.end(), orbit.renaming.begin(), orbit.renaming.end());
    for (const ImageArguments& arguments : orbit.image_arguments) {
      for (std::uint32_t i = 0; i < stride; ++i)
        chunk.nodes.arguments.push_back(i < orbit.arguments.size() ? arguments[i].term() : enumerate::no_id);
    }
    chunk.fingerprints.insert(chunk.fingerprints.end(), orbit.fingerprints.begin(), orbit.fingerprints.end());
    chunk.outputs.push_back(orbit.outputs);
    for (std::uint32_t o = 0; o < orbit.outputs; ++o) chunk.orbit_fingerprints.push_back(orbit_fingerprint(orbit, o));
  };
  chunk.products = evaluate(first, last, append);
}

void LevelRunner::add_expanded(const ExpandedChunk& chunk, enumerate::ExpandedNodes& all) {
  LevelStatistics& statistics = statistics_.back();
  statistics.products += chunk.products;
  const auto base = static_cast<std::uint32_t>(all.renaming.size());
  std::size_t next = 0, next_orbit = 0;
  for (std::size_t orbit = 0; orbit < chunk.outputs.size(); ++orbit) {
    const std::uint32_t outputs = chunk.outputs[orbit];
    const std::uint32_t begin = chunk.nodes.first_image[orbit];
    const std::uint32_t end = orbit + 1 < chunk.outputs.size()
                                  ? chunk.nodes.first_image[orbit + 1]
                                  : static_cast<std::uint32_t>(chunk.nodes.renaming.size());
    all.signatures.push_back(chunk.nodes.signatures[orbit]);
    all.first_image.push_back(base + begin);
    const auto first = static_cast<TermId>(fingerprints_.size());
    for (std::uint32_t image = begin; image < end; ++image) {
      for (std::uint32_t o = 0; o < outputs; ++o) {
        const auto term = static_cast<TermId>(fingerprints_.size());
        all.representatives.push_back(classes_.try_emplace(chunk.fingerprints[next++], term).first->second);
        statistics.new_classes += all.representatives.back() == term ? 1 : 0;
        fingerprints_.push_back(chunk.orbit_fingerprints[next_orbit + o]);
        orbits_.push_back(first + o);
      }
    }
    next_orbit += outputs;
  }
  all.renaming.insert(all.renaming.end(), chunk.nodes.renaming.begin(), chunk.nodes.renaming.end());
  all.arguments.insert(all.arguments.end(), chunk.nodes.arguments.begin(), chunk.nodes.arguments.end());
}

void LevelRunner::exchange(std::vector<ExpandedChunk>& chunks) const {
  runtime::Bytes mine;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const ExpandedChunk& chunk = chunks[c];
    if (chunk.outputs.empty()) continue;
    runtime::append_value(mine, std::uint64_t{c});
    runtime::append_value(mine, chunk.products);
    runtime::append_list(mine, chunk.nodes.signatures);
    runtime::append_list(mine, chunk.nodes.first_image);
    runtime::append_list(mine, chunk.nodes.arguments);
    runtime::append_list(mine, chunk.nodes.renaming);
    runtime::append_list(mine, chunk.fingerprints);
    runtime::append_list(mine, chunk.orbit_fingerprints);
    runtime::append_list(mine, chunk.outputs);
  }
  for (const runtime::Bytes& bytes : communicator_.all_gather(mine)) {
    for (runtime::ByteView view = bytes; !view.empty();) {
      ExpandedChunk& chunk = chunks.at(runtime::take_value<std::uint64_t>(view));
      chunk.products = runtime::take_value<std::uint64_t>(view);
      chunk.nodes.signatures = runtime::take_list<enumerate::SignatureId>(view);
      chunk.nodes.first_image = runtime::take_list<std::uint32_t>(view);
      chunk.nodes.arguments = runtime::take_list<TermId>(view);
      chunk.nodes.renaming = runtime::take_list<std::uint32_t>(view);
      chunk.fingerprints = runtime::take_list<Fingerprint>(view);
      chunk.orbit_fingerprints = runtime::take_list<OrbitFingerprint>(view);
      chunk.outputs = runtime::take_list<std::uint32_t>(view);
    }
  }
}

void LevelRunner::complete_expanded_level(std::uint64_t count) {
  std::vector<ExpandedChunk> chunks((count + rows_per_batch - 1) / rows_per_batch);
  distribute(chunks.size(), [&](std::size_t c) {
    evaluate_expanded(c * rows_per_batch, std::min(count, (c + 1) * rows_per_batch), chunks[c]);
  });
  if (communicator_.size() > 1) exchange(chunks);

  const auto first_term = static_cast<TermId>(enumerator_.terms().terms());
  std::uint64_t expanded = first_term;
  for (const ExpandedChunk& chunk : chunks) expanded += chunk.fingerprints.size();
  enumerate::check_id_range(expanded, expanded);
  enumerate::ExpandedNodes all;
  for (ExpandedChunk& chunk : chunks) add_expanded(std::exchange(chunk, {}), all);
  all.first_image.push_back(static_cast<std::uint32_t>(all.renaming.size()));
  LevelStatistics& statistics = statistics_.back();
  statistics.nodes = all.renaming.size();
  statistics.terms = statistics.rows = fingerprints_.size() - first_term;
  enumerator_.end_level(all, options_.all_terms);
  store_values(first_term);
}

}  // namespace rulemill::fingerprint
