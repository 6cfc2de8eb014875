// Completes a level whose terms are held under all their names, with their values: shared by the ranks, held by each,
// values by each node.
#include <algorithm>
#include <utility>

#include "execute/real_values.h"
#include "fingerprint/level_runner.h"
#include "runtime/byte_lists.h"

namespace rulemill::fingerprint {

using enumerate::TermId;
using execute::Fingerprint;
using execute::Pair;

/// What a thread has found of some rows, one orbit after the other.
struct LevelRunner::NamedPart {
  enumerate::NamedNodes nodes;
  std::vector<Fingerprint> prints;       // by node, then output
  std::vector<OrbitPrint> orbit_prints;  // by orbit, then output
  std::vector<std::uint32_t> outputs;    // by orbit
  std::uint64_t products = 0;
};

void LevelRunner::grow_values() {
  const auto& groups = enumerator_.terms().groups();
  const auto elements = [&](const enumerate::Group& group) {
    return static_cast<std::uint32_t>(enumerator_.types().elements(group.type)) * execute::points_of(ground_.domain);
  };
  std::vector<execute::ValueStore::GroupSize> sizes;
  std::uint64_t needed = 0;
  for (std::size_t g = values_.groups(); g < groups.size(); ++g) {
    sizes.push_back({groups[g].members.size(), elements(groups[g])});
    needed += execute::ValueStore::needed(sizes.back());
  }
  check_memory(needed / static_cast<std::uint64_t>(communicator_.node().size()), "the values");
  values_.add_groups(sizes);
}

void LevelRunner::evaluate_values(TermId first, TermId last) {
  const auto& terms = enumerator_.terms();
  execute::Evaluator evaluator(programs_, values_, executor_);
  std::array<Fingerprint, 64> unused;
  std::array<const Pair*, enumerate::max_arity> arguments{};
  for (TermId t = first; t < last; ++t) {
    if (!terms.is_extended(t)) continue;
    const auto n = terms.node(t);
    const auto taken = terms.arguments(n);
    for (std::size_t i = 0; i < taken.size(); ++i)
      arguments[i] = values_.tensor(terms.group(taken[i]), terms.slot(taken[i]));
    evaluator.add(terms.signature(n), std::span(arguments).first(taken.size()), unused.data(),
                  values_.tensor(terms.group(t), terms.slot(t)), terms.output(t));
  }
  evaluator.finish();
}

void LevelRunner::swap_values(TermId first_term, const std::vector<std::uint64_t>& ours,
                              const runtime::Communicator& communicator) {
  const auto& terms = enumerator_.terms();
  /// Calls body(values, element count) for each term of a chunk that has values.
  const auto each_tensor = [&](std::size_t chunk, const auto& body) {
    const std::uint64_t begin = first_term + chunk * rows_at_once;
    const std::uint64_t end = std::min<std::uint64_t>(terms.terms(), begin + rows_at_once);
    for (auto t = static_cast<TermId>(begin); t < end; ++t) {
      if (terms.is_extended(t)) body(values_.tensor(terms.group(t), terms.slot(t)), values_.elements(terms.group(t)));
    }
  };
  constexpr std::size_t at_once = 16;  // chunks, some ten megabytes of values
  for (std::size_t first = 0; first < ours.size(); first += at_once) {
    runtime::Bytes bytes;
    for (std::size_t chunk = first; chunk < std::min(ours.size(), first + at_once); ++chunk) {
      if (ours[chunk] == 0) continue;
      runtime::append_value(bytes, std::uint64_t{chunk});
      each_tensor(chunk, [&](const Pair* values, std::uint32_t elements) {
        const std::size_t at = bytes.size();
        bytes.resize(at + elements * sizeof(Pair));
        for (std::size_t e = 0; e < elements; ++e)
          std::memcpy(bytes.data() + at + e * sizeof(Pair), values + e * execute::block_width, sizeof(Pair));
      });
    }
    const std::vector<runtime::Bytes> all = communicator.all_gather(bytes);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (rank == static_cast<std::size_t>(communicator.rank())) continue;
      for (runtime::ByteView view = all[rank]; !view.empty();) {
        each_tensor(runtime::take_value<std::uint64_t>(view), [&](Pair* values, std::uint32_t elements) {
          const runtime::ByteView told = runtime::take_bytes(view, elements * sizeof(Pair));
          for (std::size_t e = 0; e < elements; ++e)
            std::memcpy(values + e * execute::block_width, told.data() + e * sizeof(Pair), sizeof(Pair));
        });
      }
    }
  }
}

void LevelRunner::exchange_values(TermId first_term, const std::vector<std::uint64_t>& mine) {
  if (!values_.shared()) return swap_values(first_term, mine, communicator_);
  const runtime::Communicator& node = communicator_.node();
  if (communicator_.has_other_nodes()) {
    const std::vector<std::uint64_t> ours = node.sum(mine);
    if (const auto leaders = communicator_.leaders()) swap_values(first_term, ours, *leaders);
  }
  node.barrier();
}

void LevelRunner::store_values(TermId first_term) {
  grow_values();
  const std::size_t end = enumerator_.terms().terms(), chunks = (end - first_term + rows_at_once - 1) / rows_at_once;
  std::vector<std::uint64_t> mine(chunks, 0);
  share(chunks, [&](std::size_t c) {
    const std::uint64_t first = first_term + c * rows_at_once;
    evaluate_values(static_cast<TermId>(first),
                    static_cast<TermId>(std::min<std::uint64_t>(end, first + rows_at_once)));
    mine[c] = 1;
  });
  if (communicator_.size() > 1) exchange_values(first_term, mine);
}

void LevelRunner::evaluate_named(std::uint64_t first, std::uint64_t last, NamedPart& part) const {
  const std::uint32_t stride = enumerator_.arity_stride();
  const OrbitEvaluator::Receiver note = [&](const Orbit& orbit) {
    part.nodes.signatures.push_back(orbit.signature);
    part.nodes.first_image.push_back(static_cast<std::uint32_t>(part.nodes.renaming.size()));
    part.nodes.renaming.insert(part.nodes.renaming.end(), orbit.renaming.begin(), orbit.renaming.end());
    for (const ImageArguments& arguments : orbit.image_arguments) {
      for (std::uint32_t i = 0; i < stride; ++i) {
        part.nodes.arguments.push_back(i < orbit.arguments.size() ? arguments[i].term() : enumerate::no_id);
      }
    }
    part.prints.insert(part.prints.end(), orbit.prints.begin(), orbit.prints.end());
    part.outputs.push_back(orbit.outputs);
    for (std::uint32_t o = 0; o < orbit.outputs; ++o) part.orbit_prints.push_back(orbit_print(orbit, o));
  };
  part.products = evaluate(first, last, note);
}

void LevelRunner::add_named(const NamedPart& part, enumerate::NamedNodes& all) {
  LevelFigures& figures = figures_.back();
  figures.products += part.products;
  const auto base = static_cast<std::uint32_t>(all.renaming.size());
  std::size_t print = 0, orbit_print = 0;
  for (std::size_t orbit = 0; orbit < part.outputs.size(); ++orbit) {
    const std::uint32_t outputs = part.outputs[orbit];
    const std::uint32_t begin = part.nodes.first_image[orbit];
    const std::uint32_t end = orbit + 1 < part.outputs.size() ? part.nodes.first_image[orbit + 1]
                                                              : static_cast<std::uint32_t>(part.nodes.renaming.size());
    all.signatures.push_back(part.nodes.signatures[orbit]);
    all.first_image.push_back(base + begin);
    const auto first = static_cast<TermId>(prints_.size());
    for (std::uint32_t image = begin; image < end; ++image) {
      for (std::uint32_t o = 0; o < outputs; ++o) {
        const auto term = static_cast<TermId>(prints_.size());
        all.representatives.push_back(classes_.try_emplace(part.prints[print++], term).first->second);
        figures.new_values += all.representatives.back() == term ? 1 : 0;
        prints_.push_back(part.orbit_prints[orbit_print + o]);
        orbits_.push_back(first + o);
      }
    }
    orbit_print += outputs;
  }
  all.renaming.insert(all.renaming.end(), part.nodes.renaming.begin(), part.nodes.renaming.end());
  all.arguments.insert(all.arguments.end(), part.nodes.arguments.begin(), part.nodes.arguments.end());
}

void LevelRunner::exchange(std::vector<NamedPart>& parts) const {
  runtime::Bytes mine;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const NamedPart& part = parts[p];
    if (part.outputs.empty()) continue;
    runtime::append_value(mine, std::uint64_t{p});
    runtime::append_value(mine, part.products);
    runtime::append_list(mine, part.nodes.signatures);
    runtime::append_list(mine, part.nodes.first_image);
    runtime::append_list(mine, part.nodes.arguments);
    runtime::append_list(mine, part.nodes.renaming);
    runtime::append_list(mine, part.prints);
    runtime::append_list(mine, part.orbit_prints);
    runtime::append_list(mine, part.outputs);
  }
  for (const runtime::Bytes& bytes : communicator_.all_gather(mine)) {
    for (runtime::ByteView view = bytes; !view.empty();) {
      NamedPart& part = parts.at(runtime::take_value<std::uint64_t>(view));
      part.products = runtime::take_value<std::uint64_t>(view);
      part.nodes.signatures = runtime::take_list<enumerate::SignatureId>(view);
      part.nodes.first_image = runtime::take_list<std::uint32_t>(view);
      part.nodes.arguments = runtime::take_list<TermId>(view);
      part.nodes.renaming = runtime::take_list<std::uint32_t>(view);
      part.prints = runtime::take_list<Fingerprint>(view);
      part.orbit_prints = runtime::take_list<OrbitPrint>(view);
      part.outputs = runtime::take_list<std::uint32_t>(view);
    }
  }
}

void LevelRunner::complete_named(std::uint64_t count) {
  std::vector<NamedPart> parts((count + rows_at_once - 1) / rows_at_once);
  share(parts.size(),
        [&](std::size_t p) { evaluate_named(p * rows_at_once, std::min(count, (p + 1) * rows_at_once), parts[p]); });
  if (communicator_.size() > 1) exchange(parts);

  const auto first_term = static_cast<TermId>(enumerator_.terms().terms());
  std::uint64_t named = first_term;
  for (const NamedPart& part : parts) named += part.prints.size();
  enumerate::require_ids(named, named);
  enumerate::NamedNodes all;
  for (NamedPart& part : parts) add_named(std::exchange(part, {}), all);
  all.first_image.push_back(static_cast<std::uint32_t>(all.renaming.size()));
  LevelFigures& figures = figures_.back();
  figures.nodes = all.renaming.size();
  figures.terms = figures.rows = prints_.size() - first_term;
  enumerator_.end_level(all, options_.all_terms);
  store_values(first_term);
}

}  // namespace rulemill::fingerprint
