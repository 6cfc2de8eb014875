#include "dedup/candidates/candidate_set.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/split_positions.h"
#include "algebra/terms/typing.h"
#include "dedup/candidates/candidate_text.h"
#include "runtime/mpi/parallel_sort.h"
#include "runtime/text/byte_lists.h"

namespace rulemill::dedup {
namespace {

/// A candidate with its sizes, for a BoundarySearch. Records the outcomes of comparisons.
class SizedGraph {
 public:
  using Node = std::uint8_t;
  using Value = std::int64_t;

  SizedGraph(const CandidateGraph& graph, const Vocabulary& vocabulary) : graph_(graph), vocabulary_(vocabulary) {}

  const algebra::OperatorInstance& instance(Node node) const {
    return *vocabulary_.instances[graph_.nodes[node].instance];
  }
  std::optional<std::pair<Node, std::uint32_t>> producer(Node node, std::size_t argument) const {
    const GraphTerm term = graph_.nodes[node].arguments[argument];
    if (term.is_leaf) return std::nullopt;
    return std::pair(term.index, std::uint32_t{term.output});
  }
  /// A slot has the size of the first input dimension that it is, or that of a size parameter.
  Value slot(Node node, std::uint32_t slot) const {
    const algebra::OperatorInstance& instance = this->instance(node);
    if (slot >= instance.first_size_parameter) return graph_.nodes[node].sizes[slot - instance.first_size_parameter];
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      const auto& formal = instance.inputs[i];
      for (std::size_t d = 0; d < formal.size(); ++d) {
        if (formal[d]->kind == algebra::IndexExpr::Kind::Size && formal[d]->slot == slot)
          return vocabulary_.types[graph_.type(graph_.nodes[node].arguments[i])][d];
      }
    }
    throw runtime::Error(instance.name, "has a size that no input binds");
  }
  bool is_positive(Value size) { return record(size > 0); }
  bool equals(Value a, Value b) { return record(a == b); }

  std::string outcomes;

 private:
  bool record(bool outcome) {
    outcomes.push_back(outcome ? '1' : '0');
    return outcome;
  }

  const CandidateGraph& graph_;
  const Vocabulary& vocabulary_;
};

}  // namespace

std::string size_comparisons(const CandidateGraph& graph, const Vocabulary& vocabulary) {
  SizedGraph sized(graph, vocabulary);
  for (std::uint8_t n = 0; n < graph.nodes.size(); ++n) {
    for (std::uint32_t p = 0; p < graph.nodes[n].sizes.size(); ++p) {
      const std::int64_t size = graph.nodes[n].sizes[p];
      algebra::find_boundary(sized, n, sized.instance(n).first_size_parameter + p,
                             [&](std::int64_t position) { return sized.equals(position, size); });
    }
  }
  return std::move(sized.outcomes);
}

std::string symbolic_text(const CandidateGraph& graph, const Vocabulary& vocabulary) {
  algebra::TermBank bank(*vocabulary.library);
  algebra::Symbols symbols;
  algebra::Candidate candidate = to_candidate(graph, vocabulary, {}, {}, bank);
  candidate.rule.shapes.clear();
  const auto typed = algebra::try_typing(candidate.rule, bank, symbols, &candidate.example);
  return typed ? algebra::to_string(typed->rule, bank, symbols) : "";
}

namespace {

/// Orders by key; of equal keys, the best candidate comes first.
bool precedes(const CandidateKey& a, const CandidateKey& b) {
  if (a.key != b.key) return a.key < b.key;
  if (a.dimensions != b.dimensions) return a.dimensions > b.dimensions;
  if (a.exact != b.exact) return a.exact < b.exact;
  return a.index < b.index;
}

void keep_best(std::vector<CandidateKey>& list, const runtime::ThreadPool& thread_pool) {
  runtime::parallel_sort(list, thread_pool, precedes);
  list.erase(std::unique(list.begin(), list.end(),
                         [](const CandidateKey& a, const CandidateKey& b) { return a.key == b.key; }),
             list.end());
}

/// Brings the graph to canonical form and computes its key. Returns false if both sides are equal.
bool make_key(CandidateGraph& graph, const Vocabulary& vocabulary, CandidateKey& made) {
  std::string exact;
  made.key = runtime::hash128(runtime::bytes_of(canonicalize(graph, vocabulary, CanonicalForm::AnyShapes, &exact)));
  made.key.low = runtime::hash64(runtime::bytes_of(size_comparisons(graph, vocabulary)), made.key.low);
  made.exact = runtime::hash128(runtime::bytes_of(exact));
  made.dimensions = static_cast<std::uint32_t>(distinct_dimensions(graph, vocabulary));
  return !(graph.source == graph.target);
}

}  // namespace

KeyedCandidates deduplicate(std::size_t count, const CandidateSource& source, const Vocabulary& vocabulary,
                            const runtime::ThreadPool& thread_pool, std::uint64_t* unique_up_to_renaming) {
  constexpr std::size_t chunk = 512;
  constexpr std::uint64_t dropped = ~std::uint64_t{0};
  KeyedCandidates best;
  std::vector<CandidateKey>& keys = best.keys;
  keys.resize(count);
  PackedCandidates packed(count);
  thread_pool.run_interruptible((count + chunk - 1) / chunk, [&](std::size_t c, unsigned) {
    for (std::size_t i = c * chunk; i < std::min(count, (c + 1) * chunk); ++i) {
      CandidateGraph graph = source(i);
      keys[i].index = make_key(graph, vocabulary, keys[i]) ? i : dropped;
      if (keys[i].index == i) packed[i] = pack(graph);
    }
  });
  std::erase_if(keys, [](const CandidateKey& k) { return k.index == dropped; });
  if (unique_up_to_renaming != nullptr) {
    std::vector<runtime::Hash128> exact;
    for (const CandidateKey& k : keys) exact.push_back(k.exact);
    runtime::parallel_sort(exact, thread_pool);
    *unique_up_to_renaming = static_cast<std::uint64_t>(std::unique(exact.begin(), exact.end()) - exact.begin());
  }
  keep_best(keys, thread_pool);

  for (CandidateKey& key : keys) {
    best.packed.push_back(std::move(packed[key.index]));
    key.index = best.packed.size() - 1;
  }
  return best;
}

void append(KeyedCandidates& candidates, KeyedCandidates more) {
  if (candidates.keys.empty()) {
    candidates = std::move(more);
    return;
  }
  for (CandidateKey& k : more.keys) {
    k.index += candidates.packed.size();
    candidates.keys.push_back(k);
  }
  std::ranges::move(more.packed, std::back_inserter(candidates.packed));
}

namespace {

void append(runtime::Bytes& bytes, const CandidateKey& key, const std::string& packed) {
  runtime::append_value(bytes, key);
  runtime::append_text(bytes, packed);
}

void take_candidate(runtime::ByteView& bytes, KeyedCandidates& candidates) {
  CandidateKey& key = candidates.keys.emplace_back(runtime::take_value<CandidateKey>(bytes));
  key.index = candidates.packed.size();
  candidates.packed.emplace_back(runtime::take_text(bytes));
}

}  // namespace

void append(runtime::Bytes& bytes, const KeyedCandidates& candidates) {
  runtime::append_value(bytes, std::uint64_t{candidates.keys.size()});
  for (const CandidateKey& key : candidates.keys) append(bytes, key, candidates.packed[key.index]);
}

void read(runtime::ByteView& bytes, KeyedCandidates& candidates) {
  for (auto left = runtime::take_value<std::uint64_t>(bytes); left > 0; --left) take_candidate(bytes, candidates);
}

namespace {

/// Keeps one of the candidates with equal canonical form and equal text with symbolic sizes. Their size_comparisons()
/// differ, so that there are few.
void keep_best_of_texts(KeyedCandidates& candidates, const Vocabulary& vocabulary,
                        const runtime::ThreadPool& thread_pool) {
  std::vector<CandidateKey>& keys = candidates.keys;
  for (std::size_t begin = 0, end = 0; begin < keys.size(); begin = end) {
    while (end < keys.size() && keys[end].key.high == keys[begin].key.high) ++end;
    if (end - begin == 1) continue;
    std::map<std::string, std::uint64_t> known;  // by text: the low word of the first candidate's key
    for (std::size_t i = begin; i < end; ++i) {
      const std::string text = symbolic_text(unpack(candidates.packed[keys[i].index]), vocabulary);
      if (!text.empty()) keys[i].key.low = known.try_emplace(text, keys[i].key.low).first->second;
    }
  }
  keep_best(keys, thread_pool);
}

}  // namespace

PackedCandidates deduplicate_across_ranks(KeyedCandidates candidates, const Vocabulary& vocabulary,
                                          const runtime::ThreadPool& thread_pool,
                                          const runtime::Communicator& communicator) {
  keep_best(candidates.keys, thread_pool);
  const auto ranks = static_cast<std::size_t>(communicator.size());
  if (ranks > 1) {
    std::vector<runtime::Bytes> outgoing(ranks);
    for (const CandidateKey& key : candidates.keys)
      append(outgoing[key.key.high % ranks], key, candidates.packed[key.index]);
    candidates = {};
    for (const runtime::Bytes& bytes : communicator.all_to_all(std::move(outgoing))) {
      for (runtime::ByteView view = bytes; !view.empty();) take_candidate(view, candidates);
    }
    keep_best(candidates.keys, thread_pool);
  }
  keep_best_of_texts(candidates, vocabulary, thread_pool);
  PackedCandidates result;
  for (const CandidateKey& key : candidates.keys) result.push_back(std::move(candidates.packed[key.index]));
  return result;
}

}  // namespace rulemill::dedup
