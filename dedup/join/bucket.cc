#include "dedup/join/bucket.h"

#include <algorithm>
#include <map>

#include "runtime/text/byte_lists.h"
#include "runtime/text/hash.h"

namespace rulemill::dedup {
namespace {

struct RawPairs {
  std::vector<std::pair<RenamedTerm, RenamedTerm>> pairs;  // source, target
  std::vector<Alternative> alternatives;
};

/// The number of terms per output that are combined.
constexpr std::size_t max_alternatives = 4;

/// Sorts members by size, then by canonical key. The order does not depend on the names of variables.
std::vector<TermId> ordered_members(const TermRows& rows, const std::vector<TermId>& members,
                                    const Vocabulary& vocabulary) {
  std::vector<std::tuple<std::uint32_t, std::string, TermId>> keyed;
  const std::uint32_t lowest = rows.row(members.front()).level;
  for (const TermId t : members) {
    // A key is needed only if several members are the smallest.
    std::string form;
    if (rows.row(t).level == lowest && rows.row(members[1]).level == lowest) {
      const RenamedTerm output_term{t};
      CandidateGraph graph = make_graph(rows, {&output_term, 1}, {&output_term, 1});
      form = canonicalize(graph, vocabulary, CanonicalForm::Exact);
    }
    keyed.emplace_back(rows.row(t).level, std::move(form), t);
  }
  std::ranges::sort(keyed);
  std::vector<TermId> result;
  for (const auto& entry : keyed) result.push_back(std::get<2>(entry));
  return result;
}

/// Whether every two terms of the side share a node or a variable, and the side has at most max_ops nodes.
bool is_connected(const CandidateGraph& graph, const GraphSide& side, std::size_t max_ops) {
  if (graph.size(side) > max_ops) return false;
  const auto used = [&](GraphTerm t) {
    GraphSide one;
    one.push_back(t);
    const std::uint32_t nodes = graph.nodes_below(one);
    std::uint64_t leaves = t.is_leaf ? std::uint64_t{1} << t.index : 0;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (!(nodes >> n & 1)) continue;
      for (const GraphTerm argument : graph.nodes[n].arguments)
        leaves |= argument.is_leaf ? std::uint64_t{1} << argument.index : 0;
    }
    return std::pair(nodes, leaves);
  };
  for (std::size_t i = 0; i < side.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto [nodes_i, leaves_i] = used(side[i]);
      const auto [nodes_j, leaves_j] = used(side[j]);
      if ((nodes_i & nodes_j) == 0 && (leaves_i & leaves_j) == 0) return false;
    }
  }
  return true;
}

/// Returns the members of a class in order, without those that are congruent to others.
std::vector<TermId> kept_members(const TermRows& rows, const std::vector<TermId>& members,
                                 const SupersededTerms& superseded, const Vocabulary& vocabulary) {
  std::vector<TermId> kept;
  for (const TermId t : members) {
    const auto& arguments = rows.row(t).arguments;
    if (std::ranges::none_of(arguments, [&](TermId a) { return a != no_id && superseded.contains(a); }))
      kept.push_back(t);
  }
  return kept.size() > 1 ? ordered_members(rows, kept, vocabulary) : kept;
}

/// Adds, for each member whose node has several outputs, the smallest members of other nodes as alternatives. An output
/// that equals a variable needs no rule with several outputs.
void add_alternatives(const TermRows& rows, const std::vector<TermId>& members, const Vocabulary& vocabulary,
                      std::vector<Alternative>& alternatives) {
  const std::uint8_t lowest = rows.row(members[0]).level;
  for (const TermId t : members) {
    const TermRow& row = rows.row(t);
    if (row.instance == fingerprint::no_instance || vocabulary.instances[row.instance]->outputs.size() < 2) continue;
    std::size_t count = 0;
    for (const TermId other : members) {
      if (rows.row(other).node == row.node) continue;
      if (lowest == 0 || rows.row(other).level != lowest || count++ == max_alternatives) break;
      const RenamedTerm equal_term{other, rows.row(other).renaming, t, row.renaming};
      alternatives.push_back({row.node, row.output, t, equal_term});
    }
  }
}

/// Pairs the terms of this rank's classes. The rows of all members must be available. Stops early after an interrupt.
RawPairs pair_terms(const TermRows& rows, const TermClasses& classes, const SupersededTerms& superseded,
                    const Vocabulary& vocabulary, const runtime::ThreadPool& thread_pool) {
  constexpr std::size_t chunk = 1024;
  const auto renamed = [&](TermId t) { return RenamedTerm{t, rows.row(t).renaming}; };
  const auto add_pairs = [&](const std::vector<TermId>& members, RawPairs& raw) {
    for (std::size_t i = 1; i < members.size(); ++i) raw.pairs.emplace_back(renamed(members[i]), renamed(members[0]));
    // The symmetries of the other members follow from those of the smallest one.
    for (std::uint32_t r = 0; r < 64; ++r) {
      if (rows.row(members[0]).symmetries >> r & 1)
        raw.pairs.emplace_back(RenamedTerm{members[0], r}, renamed(members[0]));
    }
    add_alternatives(rows, members, vocabulary, raw.alternatives);
  };
  const std::size_t count = classes.classes.size();
  std::vector<RawPairs> chunks((count + chunk - 1) / chunk);
  thread_pool.run_interruptible(chunks.size(), [&](std::size_t c, unsigned) {
    for (std::size_t i = c * chunk; i < std::min(count, (c + 1) * chunk); ++i) {
      const std::vector<TermId> members = kept_members(rows, classes.classes[i], superseded, vocabulary);
      if (!members.empty()) add_pairs(members, chunks[c]);
    }
  });
  RawPairs all;
  for (const RawPairs& each : chunks) {
    all.pairs.insert(all.pairs.end(), each.pairs.begin(), each.pairs.end());
    all.alternatives.insert(all.alternatives.end(), each.alternatives.begin(), each.alternatives.end());
  }
  return all;
}

/// By node: the alternatives of each output.
using NodeAlternatives = std::map<std::uint32_t, std::vector<std::vector<Alternative>>>;

/// Collective. Sends alternatives to the rank that owns their node and fetches the rows of their terms.
NodeAlternatives gather_alternatives(TermRows& rows, const std::vector<Alternative>& alternatives,
                                     const runtime::Communicator& communicator) {
  std::vector<runtime::Bytes> outgoing(static_cast<std::size_t>(communicator.size()));
  for (const Alternative& alternative : alternatives)
    runtime::append_value(outgoing[alternative.node % outgoing.size()], alternative);
  NodeAlternatives nodes;
  std::vector<TermId> terms;
  for (const runtime::Bytes& bytes : communicator.all_to_all(std::move(outgoing))) {
    for (const Alternative& alternative : runtime::values_of<Alternative>(bytes)) {
      auto& outputs = nodes[alternative.node];
      outputs.resize(std::max<std::size_t>(outputs.size(), alternative.output + 1));
      outputs[alternative.output].push_back(alternative);
      terms.push_back(alternative.output_term);
      terms.push_back(alternative.equal_term.term);
    }
  }
  rows.fetch(std::move(terms));
  return nodes;
}

/// Adds a candidate for each combination of one alternative per output.
void add_choices(const std::vector<std::vector<Alternative>>& outputs, std::vector<RawCandidate>& candidates) {
  std::vector<std::size_t> choice(outputs.size(), 0);
  for (bool more = true; more;) {
    RawCandidate candidate;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      candidate.source.push_back(outputs[o][choice[o]].equal_term);
      candidate.target.push_back(RenamedTerm{outputs[o][choice[o]].output_term});
    }
    candidates.push_back(candidate);
    more = false;
    for (std::size_t o = 0; o < outputs.size() && !more; ++o) {
      more = ++choice[o] < outputs[o].size();
      if (!more) choice[o] = 0;
    }
  }
}

/// Keeps the candidates with connected outputs on both sides. The others are products of smaller rules.
void keep_connected(const TermRows& rows, const Vocabulary& vocabulary, std::uint32_t max_ops,
                    const runtime::ThreadPool& thread_pool, std::vector<RawCandidate>& candidates) {
  std::vector<std::uint8_t> connected(candidates.size(), 0);
  constexpr std::size_t chunk = 256;
  thread_pool.run_interruptible((candidates.size() + chunk - 1) / chunk, [&](std::size_t c, unsigned) {
    for (std::size_t i = c * chunk; i < std::min(candidates.size(), (c + 1) * chunk); ++i) {
      CandidateGraph graph = make_graph(rows, candidates[i].source, candidates[i].target);
      canonicalize_without_key(graph, vocabulary, CanonicalForm::Exact);
      connected[i] = is_connected(graph, graph.source, max_ops) && is_connected(graph, graph.target, max_ops) ? 1 : 0;
    }
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (connected[i]) candidates[kept++] = candidates[i];
  }
  candidates.resize(kept);
}

}  // namespace

void SupersededTerms::add(const TermRows& rows, const TermClasses& classes, const runtime::Communicator& communicator) {
  std::vector<TermId> later;
  for (const auto& members : classes.classes) {
    for (std::size_t i = 1; i < members.size() && members[i] < contains_.size(); ++i) later.push_back(members[i]);
  }
  std::vector<bool> orbits(contains_.size(), false);
  for (const runtime::Bytes& bytes : communicator.all_gather(runtime::bytes_of(later))) {
    for (const TermId t : runtime::values_of<TermId>(bytes)) orbits[t] = true;
  }
  for (TermId t = 0; t < contains_.size(); ++t) {
    if (orbits[rows.row(t).orbit]) contains_[t] = true;
  }
}

std::vector<RawCandidate> find_multi_output_candidates(TermRows& rows, const std::vector<Alternative>& alternatives,
                                                       const Vocabulary& vocabulary, std::uint32_t max_ops,
                                                       const runtime::ThreadPool& thread_pool,
                                                       const runtime::Communicator& communicator) {
  std::vector<RawCandidate> candidates;
  for (auto& [node, outputs] : gather_alternatives(rows, alternatives, communicator)) {
    const bool complete =
        std::ranges::none_of(outputs, [](const auto& list) { return list.empty(); }) &&
        outputs.size() == vocabulary.instances[rows.row(outputs.back().front().output_term).instance]->outputs.size();
    if (!complete) continue;
    auto sorted = outputs;
    for (auto& list : sorted) std::ranges::sort(list, {}, [](const Alternative& a) { return a.equal_term.term; });
    add_choices(sorted, candidates);
  }
  keep_connected(rows, vocabulary, max_ops, thread_pool, candidates);
  return candidates;
}

namespace {

void add_counts(std::vector<std::uint64_t>& total, const std::vector<std::uint64_t>& counts) {
  total.resize(std::max(total.size(), counts.size()));
  for (std::size_t i = 0; i < counts.size(); ++i) total[i] += counts[i];
}

}  // namespace

Bucket make_bucket(const TermRows& rows, const TermClasses& classes, const SupersededTerms& superseded,
                   const Vocabulary& vocabulary, const runtime::ThreadPool& thread_pool) {
  Bucket bucket;
  bucket.classes = classes.classes.size();
  bucket.new_classes = classes.new_classes;
  bucket.by_type = classes.by_type;
  RawPairs raw = pair_terms(rows, classes, superseded, vocabulary, thread_pool);
  bucket.pairs = raw.pairs.size();
  bucket.alternatives = std::move(raw.alternatives);
  const auto source = [&](std::size_t i) {
    return make_graph(rows, {&raw.pairs[i].first, 1}, {&raw.pairs[i].second, 1});
  };
  bucket.candidates = deduplicate(raw.pairs.size(), source, vocabulary, thread_pool, &bucket.unique_up_to_renaming);
  return bucket;
}

void add(Bucket& total, Bucket bucket) {
  total.classes += bucket.classes;
  total.pairs += bucket.pairs;
  total.unique_up_to_renaming += bucket.unique_up_to_renaming;
  add_counts(total.new_classes, bucket.new_classes);
  add_counts(total.by_type, bucket.by_type);
  total.alternatives.insert(total.alternatives.end(), bucket.alternatives.begin(), bucket.alternatives.end());
  append(total.candidates, std::move(bucket.candidates));
}

runtime::Bytes to_bytes(const Bucket& bucket) {
  runtime::Bytes bytes;
  for (const std::uint64_t count : {bucket.classes, bucket.pairs, bucket.unique_up_to_renaming})
    runtime::append_value(bytes, count);
  runtime::append_list(bytes, bucket.new_classes);
  runtime::append_list(bytes, bucket.by_type);
  runtime::append_list(bytes, bucket.alternatives);
  append(bytes, bucket.candidates);
  return bytes;
}

void add_from(Bucket& total, runtime::ByteView bytes) {
  while (!bytes.empty()) {
    Bucket bucket;
    bucket.classes = runtime::take_value<std::uint64_t>(bytes);
    bucket.pairs = runtime::take_value<std::uint64_t>(bytes);
    bucket.unique_up_to_renaming = runtime::take_value<std::uint64_t>(bytes);
    bucket.new_classes = runtime::take_list<std::uint64_t>(bytes);
    bucket.by_type = runtime::take_list<std::uint64_t>(bytes);
    bucket.alternatives = runtime::take_list<Alternative>(bytes);
    read(bytes, bucket.candidates);
    add(total, std::move(bucket));
  }
}

}  // namespace rulemill::dedup
