#include "dedup/candidate_set.h"

#include <algorithm>

#include "runtime/hash.h"

namespace rulemill::dedup {
namespace {

struct Keyed {
  std::string key;
  std::size_t dimensions = 0;  // more is better
  std::string exact;           // then the first
  CandidateGraph graph;
};

}  // namespace

std::vector<CandidateGraph> one_of_each(std::vector<CandidateGraph> graphs, const Vocabulary& words, KeyKind kind,
                                        const fingerprint::Workers& workers, const runtime::Communicator& communicator) {
  std::vector<Keyed> keyed(graphs.size());
  constexpr std::size_t chunk = 256;
  workers.run((graphs.size() + chunk - 1) / chunk, [&](std::size_t c, unsigned) {
    for (std::size_t i = c * chunk; i < std::min(graphs.size(), (c + 1) * chunk); ++i) {
      Keyed& made = keyed[i];
      made.graph = std::move(graphs[i]);
      made.key = canonicalize(made.graph, words, kind);
      if (made.graph.source == made.graph.target) continue;
      made.dimensions = distinct_dimensions(made.graph, words);
      CandidateGraph copy = made.graph;
      made.exact = kind == KeyKind::Exact ? made.key : canonicalize(copy, words, KeyKind::Exact);
    }
  });
  std::erase_if(keyed, [](const Keyed& k) { return k.graph.source == k.graph.target; });
  const auto better = [](const Keyed& a, const Keyed& b) {
    if (a.key != b.key) return a.key < b.key;
    if (a.dimensions != b.dimensions) return a.dimensions > b.dimensions;
    return a.exact < b.exact;
  };
  const auto keep_best = [&](std::vector<Keyed>& list) {
    std::sort(list.begin(), list.end(), better);
    list.erase(std::unique(list.begin(), list.end(), [](const Keyed& a, const Keyed& b) { return a.key == b.key; }), list.end());
  };
  keep_best(keyed);

  const auto ranks = static_cast<std::size_t>(communicator.size());
  if (ranks > 1) {
    std::vector<runtime::Bytes> outgoing(ranks);
    for (const Keyed& k : keyed) {
      runtime::Bytes& bytes = outgoing[runtime::hash64(runtime::bytes_of(k.key)) % ranks];
      for (const std::string* text : {&k.key, &k.exact}) {
        runtime::append_value(bytes, static_cast<std::uint32_t>(text->size()));
        const auto view = runtime::bytes_of(*text);
        bytes.insert(bytes.end(), view.begin(), view.end());
      }
      runtime::append_value(bytes, std::uint64_t{k.dimensions});
      append(bytes, k.graph);
    }
    keyed.clear();
    for (const runtime::Bytes& bytes : communicator.all_to_all(std::move(outgoing))) {
      runtime::ByteView view = bytes;
      while (!view.empty()) {
        Keyed& k = keyed.emplace_back();
        for (std::string* text : {&k.key, &k.exact}) {
          std::uint32_t size = 0;
          std::memcpy(&size, view.data(), sizeof size);
          *text = runtime::text_of(view.subspan(sizeof size, size));
          view = view.subspan(sizeof size + size);
        }
        std::uint64_t dimensions = 0;
        std::memcpy(&dimensions, view.data(), sizeof dimensions);
        view = view.subspan(sizeof dimensions);
        k.dimensions = dimensions;
        k.graph = read_graph(view);
      }
    }
    keep_best(keyed);
  }
  std::vector<CandidateGraph> result;
  for (Keyed& k : keyed) result.push_back(std::move(k.graph));
  return result;
}

}  // namespace rulemill::dedup
