#include "dedup/pairs.h"

#include <algorithm>
#include <map>

#include "runtime/hash.h"

namespace rulemill::dedup {
namespace {

/// How many ways to compute one output are tried in combinations.
constexpr std::size_t most_alternatives = 4;

/// One way to compute output `output` of node `node`.
struct Alternative {
  std::uint32_t node = 0;
  std::uint32_t output = 0;
  TermId self = 0;
  TermId term = 0;
};

/// Members in an order that renaming variables does not change: smallest first, then by form.
std::vector<TermId> ordered_members(const TermRows& rows, const std::vector<TermId>& members, const Vocabulary& words) {
  std::vector<std::tuple<std::uint32_t, std::string, TermId>> keyed;
  const std::uint32_t lowest = rows.row(members.front()).level;
  for (const TermId t : members) {
    // Only the smallest compete for the first place.
    std::string form;
    if (rows.row(t).level == lowest && rows.row(members[1]).level == lowest) {
      CandidateGraph graph = graph_of(rows, {&t, 1}, {&t, 1});
      form = canonicalize(graph, words, KeyKind::Exact);
    }
    keyed.emplace_back(rows.row(t).level, std::move(form), t);
  }
  std::ranges::sort(keyed);
  std::vector<TermId> result;
  for (const auto& entry : keyed) result.push_back(std::get<2>(entry));
  return result;
}

/// Whether every two terms of the side have a node or a variable in common.
bool connected(const CandidateGraph& graph, const GraphSide& side) {
  const auto used = [&](GraphTerm t) {
    GraphSide one;
    one.push_back(t);
    const std::uint32_t nodes = graph.below(one);
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

}  // namespace

RawCandidates pair_terms(TermRows& rows, const TermClasses& classes, const Vocabulary& words, std::uint32_t max_ops,
                         const fingerprint::Workers& workers, const runtime::Communicator& communicator) {
  // Terms below the last level that an earlier one equals: what uses them is congruent to what uses the earlier.
  const std::uint64_t last_level = rows.first_of_level(max_ops);
  std::vector<TermId> later;
  std::vector<TermId> wanted;
  for (const auto& members : classes.classes) {
    for (std::size_t i = 1; i < members.size() && members[i] < last_level; ++i) later.push_back(members[i]);
    wanted.insert(wanted.end(), members.begin(), members.end());
  }
  std::vector<bool> superseded(last_level, false);
  for (const runtime::Bytes& bytes : communicator.all_gather(runtime::bytes_of(later))) {
    for (const TermId t : runtime::values_of<TermId>(bytes)) superseded[t] = true;
  }
  rows.fetch(std::move(wanted));

  RawCandidates raw;
  std::vector<runtime::Bytes> outgoing(static_cast<std::size_t>(communicator.size()));
  constexpr std::size_t chunk = 1024;
  std::vector<std::vector<std::vector<TermId>>> ordered((classes.classes.size() + chunk - 1) / chunk);
  workers.run(ordered.size(), [&](std::size_t c, unsigned) {
    for (std::size_t i = c * chunk; i < std::min(classes.classes.size(), (c + 1) * chunk); ++i) {
      std::vector<TermId> kept;
      for (const TermId t : classes.classes[i]) {
        const auto& arguments = rows.row(t).arguments;
        if (std::ranges::none_of(arguments, [&](TermId a) { return a != no_id && superseded[a]; })) kept.push_back(t);
      }
      if (kept.size() > 1) ordered[c].push_back(ordered_members(rows, kept, words));
    }
  });
  for (const auto& part : ordered) {
    for (const std::vector<TermId>& kept : part) {
      for (std::size_t i = 1; i < kept.size(); ++i) raw.single.emplace_back(kept[i], kept[0]);
      for (const TermId t : kept) {
        const TermRow& row = rows.row(t);
        if (row.instance == fingerprint::no_instance || words.instances[row.instance]->outputs.size() < 2) continue;
        // An output that is a variable needs no rule of several outputs; nor does a way that is not the smallest.
        const std::uint8_t lowest = rows.row(kept[0]).level;
        std::size_t count = 0;
        for (const TermId other : kept) {
          if (rows.row(other).node == row.node) continue;
          if (lowest == 0 || rows.row(other).level != lowest || count++ == most_alternatives) break;
          runtime::append_value(outgoing[row.node % outgoing.size()], Alternative{row.node, row.output, t, other});
        }
      }
    }
  }

  // By node: the alternatives of each output.
  std::map<std::uint32_t, std::vector<std::vector<Alternative>>> nodes;
  wanted.clear();
  for (const runtime::Bytes& bytes : communicator.all_to_all(std::move(outgoing))) {
    for (const Alternative& alternative : runtime::values_of<Alternative>(bytes)) {
      auto& outputs = nodes[alternative.node];
      outputs.resize(std::max<std::size_t>(outputs.size(), alternative.output + 1));
      outputs[alternative.output].push_back(alternative);
      wanted.push_back(alternative.self);
      wanted.push_back(alternative.term);
    }
  }
  rows.fetch(std::move(wanted));
  for (const auto& [node, outputs] : nodes) {
    const bool complete =
        std::ranges::none_of(outputs, [](const auto& list) { return list.empty(); }) &&
        outputs.size() == words.instances[rows.row(outputs.back().front().self).instance]->outputs.size();
    if (!complete) continue;
    std::vector<std::size_t> choice(outputs.size(), 0);
    for (bool more = true; more;) {
      RawCandidate made;
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        made.source.push_back(outputs[o][choice[o]].term);
        made.target.push_back(outputs[o][choice[o]].self);
      }
      const CandidateGraph graph = graph_of(rows, made.source, made.target);
      if (graph.size(graph.source) <= max_ops && connected(graph, graph.source)) raw.multi.push_back(made);
      more = false;
      for (std::size_t o = 0; o < outputs.size() && !more; ++o) {
        more = ++choice[o] < outputs[o].size();
        if (!more) choice[o] = 0;
      }
    }
  }
  return raw;
}

}  // namespace rulemill::dedup
