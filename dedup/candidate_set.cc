#include "dedup/candidate_set.h"

#include <algorithm>
#include <cstring>

#include "runtime/hash.h"

namespace rulemill::dedup {
namespace {

/// What deciding between candidates of one key needs.
struct Keyed {
  runtime::Hash128 key;
  std::uint32_t dimensions = 0;  // more is better
  runtime::Hash128 exact;        // then the smaller: of the form with its types
  std::uint64_t index = 0;       // where the candidate comes from
};

bool better(const Keyed& a, const Keyed& b) {
  if (a.key != b.key) return a.key < b.key;
  if (a.dimensions != b.dimensions) return a.dimensions > b.dimensions;
  if (a.exact != b.exact) return a.exact < b.exact;
  return a.index < b.index;
}

void keep_best(std::vector<Keyed>& list) {
  std::sort(list.begin(), list.end(), better);
  list.erase(std::unique(list.begin(), list.end(), [](const Keyed& a, const Keyed& b) { return a.key == b.key; }),
             list.end());
}

/// Canonical form and key; false if the sides are the same.
bool make_key(CandidateGraph& graph, const Vocabulary& words, Keyed& made) {
  std::string exact;
  made.key = runtime::hash128(runtime::bytes_of(canonicalize(graph, words, KeyKind::AnyShapes, &exact)));
  made.exact = runtime::hash128(runtime::bytes_of(exact));
  made.dimensions = static_cast<std::uint32_t>(distinct_dimensions(graph, words));
  return !(graph.source == graph.target);
}

}  // namespace

std::string pack(const CandidateGraph& graph) {
  runtime::Bytes bytes;
  append(bytes, graph);
  return std::string(runtime::text_of(bytes));
}

CandidateGraph unpack(const std::string& packed) {
  runtime::ByteView view = runtime::bytes_of(packed);
  return read_graph(view);
}

PackedCandidates one_of_each(std::size_t count, const CandidateSource& source, const Vocabulary& words,
                             const runtime::Workers& workers, const runtime::Communicator& communicator,
                             std::uint64_t* renamings_apart) {
  constexpr std::size_t chunk = 512;
  constexpr std::uint64_t dropped = ~std::uint64_t{0};
  std::vector<Keyed> keyed(count);
  workers.run((count + chunk - 1) / chunk, [&](std::size_t c, unsigned) {
    for (std::size_t i = c * chunk; i < std::min(count, (c + 1) * chunk); ++i) {
      CandidateGraph graph = source(i);
      keyed[i].index = make_key(graph, words, keyed[i]) ? i : dropped;
    }
  });
  std::erase_if(keyed, [](const Keyed& k) { return k.index == dropped; });
  if (renamings_apart != nullptr) {
    std::vector<runtime::Hash128> exact;
    for (const Keyed& k : keyed) exact.push_back(k.exact);
    std::ranges::sort(exact);
    *renamings_apart = static_cast<std::uint64_t>(std::unique(exact.begin(), exact.end()) - exact.begin());
  }
  keep_best(keyed);

  // Only what is kept is built again.
  PackedCandidates packed(keyed.size());
  workers.run((keyed.size() + chunk - 1) / chunk, [&](std::size_t c, unsigned) {
    for (std::size_t i = c * chunk; i < std::min(keyed.size(), (c + 1) * chunk); ++i) {
      CandidateGraph graph = source(keyed[i].index);
      bring_to_form(graph, words, KeyKind::AnyShapes);
      packed[i] = pack(graph);
    }
  });
  const auto ranks = static_cast<std::size_t>(communicator.size());
  if (ranks == 1) return packed;

  std::vector<runtime::Bytes> outgoing(ranks);
  for (std::size_t i = 0; i < keyed.size(); ++i) {
    runtime::Bytes& bytes = outgoing[keyed[i].key.low % ranks];
    runtime::append_value(bytes, keyed[i]);
    runtime::append_value(bytes, static_cast<std::uint32_t>(packed[i].size()));
    const auto view = runtime::bytes_of(packed[i]);
    bytes.insert(bytes.end(), view.begin(), view.end());
  }
  keyed.clear();
  PackedCandidates received;
  for (const runtime::Bytes& bytes : communicator.all_to_all(std::move(outgoing))) {
    for (std::size_t at = 0; at < bytes.size();) {
      Keyed k;
      std::uint32_t size = 0;
      std::memcpy(&k, bytes.data() + at, sizeof k);
      std::memcpy(&size, bytes.data() + at + sizeof k, sizeof size);
      at += sizeof k + sizeof size;
      k.index = received.size();
      received.emplace_back(reinterpret_cast<const char*>(bytes.data() + at), size);
      at += size;
      keyed.push_back(k);
    }
  }
  keep_best(keyed);
  PackedCandidates result;
  for (const Keyed& k : keyed) result.push_back(std::move(received[k.index]));
  return result;
}

}  // namespace rulemill::dedup
