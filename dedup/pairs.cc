#include "dedup/pairs.h"

#include <algorithm>
#include <map>

#include "runtime/hash.h"

namespace rulemill::dedup {
namespace {

/// How many ways to compute one output are tried in combinations.
constexpr std::size_t most_alternatives = 4;

/// Members in an order that renaming variables does not change: smallest first, then by form.
std::vector<TermId> ordered_members(const TermRows& rows, const std::vector<TermId>& members, const Vocabulary& words) {
  std::vector<std::tuple<std::uint32_t, std::string, TermId>> keyed;
  const std::uint32_t lowest = rows.row(members.front()).level;
  for (const TermId t : members) {
    // Only the smallest compete for the first place.
    std::string form;
    if (rows.row(t).level == lowest && rows.row(members[1]).level == lowest) {
      const Occurrence self{t};
      CandidateGraph graph = graph_of(rows, {&self, 1}, {&self, 1});
      form = canonicalize(graph, words, KeyKind::Exact);
    }
    keyed.emplace_back(rows.row(t).level, std::move(form), t);
  }
  std::ranges::sort(keyed);
  std::vector<TermId> result;
  for (const auto& entry : keyed) result.push_back(std::get<2>(entry));
  return result;
}

/// Whether every two terms of the side have a node or a variable in common, and there are not too many nodes.
bool is_joint(const CandidateGraph& graph, const GraphSide& side, std::size_t max_ops) {
  if (graph.size(side) > max_ops) return false;
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

void Superseded::add(const TermRows& rows, const TermClasses& classes, const runtime::Communicator& communicator) {
  std::vector<TermId> later;
  for (const auto& members : classes.classes) {
    for (std::size_t i = 1; i < members.size() && members[i] < is_.size(); ++i) later.push_back(members[i]);
  }
  std::vector<bool> orbits(is_.size(), false);
  for (const runtime::Bytes& bytes : communicator.all_gather(runtime::bytes_of(later))) {
    for (const TermId t : runtime::values_of<TermId>(bytes)) orbits[t] = true;
  }
  for (TermId t = 0; t < is_.size(); ++t) {
    if (orbits[rows.row(t).orbit]) is_[t] = true;
  }
}

RawPairs pair_terms(const TermRows& rows, const TermClasses& classes, const Superseded& superseded,
                    const Vocabulary& words, const runtime::Workers& workers) {
  RawPairs raw;
  constexpr std::size_t chunk = 1024;
  std::vector<std::vector<std::vector<TermId>>> ordered((classes.classes.size() + chunk - 1) / chunk);
  workers.run_unless_stopped(ordered.size(), [&](std::size_t c, unsigned) {
    for (std::size_t i = c * chunk; i < std::min(classes.classes.size(), (c + 1) * chunk); ++i) {
      std::vector<TermId> kept;
      for (const TermId t : classes.classes[i]) {
        const auto& arguments = rows.row(t).arguments;
        if (std::ranges::none_of(arguments, [&](TermId a) { return a != no_id && superseded[a]; })) kept.push_back(t);
      }
      if (kept.size() > 1) kept = ordered_members(rows, kept, words);
      if (!kept.empty()) ordered[c].push_back(std::move(kept));
    }
  });
  const auto occurrence = [&](TermId t) { return Occurrence{t, rows.row(t).renaming}; };
  for (const auto& part : ordered) {
    for (const std::vector<TermId>& kept : part) {
      for (std::size_t i = 1; i < kept.size(); ++i) raw.pairs.emplace_back(occurrence(kept[i]), occurrence(kept[0]));
      // The symmetries of the others follow from the smallest one's.
      for (std::uint32_t r = 0; r < 64; ++r) {
        if (rows.row(kept[0]).symmetries >> r & 1) {
          raw.pairs.emplace_back(Occurrence{kept[0], r}, occurrence(kept[0]));
        }
      }
      for (const TermId t : kept) {
        const TermRow& row = rows.row(t);
        if (row.instance == fingerprint::no_instance || words.instances[row.instance]->outputs.size() < 2) continue;
        // An output that is a variable needs no rule of several outputs; nor does a way that is not the smallest.
        const std::uint8_t lowest = rows.row(kept[0]).level;
        std::size_t count = 0;
        for (const TermId other : kept) {
          if (rows.row(other).node == row.node) continue;
          if (lowest == 0 || rows.row(other).level != lowest || count++ == most_alternatives) break;
          const Occurrence way{other, rows.row(other).renaming, t, row.renaming};
          raw.alternatives.push_back({row.node, row.output, t, way});
        }
      }
    }
  }
  return raw;
}

std::vector<RawCandidate> combine(TermRows& rows, const std::vector<Alternative>& alternatives, const Vocabulary& words,
                                  std::uint32_t max_ops, const runtime::Workers& workers,
                                  const runtime::Communicator& communicator) {
  std::vector<runtime::Bytes> outgoing(static_cast<std::size_t>(communicator.size()));
  for (const Alternative& alternative : alternatives) {
    runtime::append_value(outgoing[alternative.node % outgoing.size()], alternative);
  }
  // By node: the alternatives of each output.
  std::map<std::uint32_t, std::vector<std::vector<Alternative>>> nodes;
  std::vector<TermId> wanted;
  for (const runtime::Bytes& bytes : communicator.all_to_all(std::move(outgoing))) {
    for (const Alternative& alternative : runtime::values_of<Alternative>(bytes)) {
      auto& outputs = nodes[alternative.node];
      outputs.resize(std::max<std::size_t>(outputs.size(), alternative.output + 1));
      outputs[alternative.output].push_back(alternative);
      wanted.push_back(alternative.self);
      wanted.push_back(alternative.way.term);
    }
  }
  rows.fetch(std::move(wanted));
  std::vector<RawCandidate> found;
  for (auto& [node, outputs] : nodes) {
    const bool complete =
        std::ranges::none_of(outputs, [](const auto& list) { return list.empty(); }) &&
        outputs.size() == words.instances[rows.row(outputs.back().front().self).instance]->outputs.size();
    if (!complete) continue;
    for (auto& list : outputs) std::ranges::sort(list, {}, [](const Alternative& a) { return a.way.term; });
    std::vector<std::size_t> choice(outputs.size(), 0);
    for (bool more = true; more;) {
      RawCandidate made;
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        made.source.push_back(outputs[o][choice[o]].way);
        made.target.push_back(Occurrence{outputs[o][choice[o]].self});
      }
      found.push_back(made);
      more = false;
      for (std::size_t o = 0; o < outputs.size() && !more; ++o) {
        more = ++choice[o] < outputs[o].size();
        if (!more) choice[o] = 0;
      }
    }
  }
  std::vector<std::uint8_t> joint(found.size(), 0);
  constexpr std::size_t chunk = 256;
  workers.run_unless_stopped((found.size() + chunk - 1) / chunk, [&](std::size_t c, unsigned) {
    for (std::size_t i = c * chunk; i < std::min(found.size(), (c + 1) * chunk); ++i) {
      CandidateGraph graph = graph_of(rows, found[i].source, found[i].target);
      bring_to_form(graph, words, KeyKind::Exact);
      joint[i] = is_joint(graph, graph.source, max_ops) && is_joint(graph, graph.target, max_ops) ? 1 : 0;
    }
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (joint[i]) found[kept++] = found[i];
  }
  found.resize(kept);
  return found;
}

}  // namespace rulemill::dedup
