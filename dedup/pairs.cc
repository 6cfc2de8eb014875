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

namespace {

/// Each class's members in order, without those that are congruent to others; classes of none are left out.
std::vector<std::vector<TermId>> ordered_classes(const TermRows& rows, const TermClasses& classes,
                                                 const Superseded& superseded, const Vocabulary& words,
                                                 const runtime::Workers& workers) {
  constexpr std::size_t chunk = 1024;
  std::vector<std::vector<TermId>> ordered(classes.classes.size());
  workers.run_unless_stopped((ordered.size() + chunk - 1) / chunk, [&](std::size_t c, unsigned) {
    for (std::size_t i = c * chunk; i < std::min(ordered.size(), (c + 1) * chunk); ++i) {
      std::vector<TermId>& kept = ordered[i];
      for (const TermId t : classes.classes[i]) {
        const auto& arguments = rows.row(t).arguments;
        if (std::ranges::none_of(arguments, [&](TermId a) { return a != no_id && superseded[a]; })) kept.push_back(t);
      }
      if (kept.size() > 1) kept = ordered_members(rows, kept, words);
    }
  });
  std::erase_if(ordered, [](const std::vector<TermId>& members) { return members.empty(); });
  return ordered;
}

/// For each member that is one of several outputs of its node: the smallest members of other nodes. An output that
/// equals a variable needs no rule of several outputs.
void add_alternatives(const TermRows& rows, const std::vector<TermId>& members, const Vocabulary& words,
                      std::vector<Alternative>& alternatives) {
  const std::uint8_t lowest = rows.row(members[0]).level;
  for (const TermId t : members) {
    const TermRow& row = rows.row(t);
    if (row.instance == fingerprint::no_instance || words.instances[row.instance]->outputs.size() < 2) continue;
    std::size_t count = 0;
    for (const TermId other : members) {
      if (rows.row(other).node == row.node) continue;
      if (lowest == 0 || rows.row(other).level != lowest || count++ == most_alternatives) break;
      const Occurrence equal{other, rows.row(other).renaming, t, row.renaming};
      alternatives.push_back({row.node, row.output, t, equal});
    }
  }
}

}  // namespace

RawPairs pair_terms(const TermRows& rows, const TermClasses& classes, const Superseded& superseded,
                    const Vocabulary& words, const runtime::Workers& workers) {
  RawPairs raw;
  const auto occurrence = [&](TermId t) { return Occurrence{t, rows.row(t).renaming}; };
  for (const std::vector<TermId>& members : ordered_classes(rows, classes, superseded, words, workers)) {
    for (std::size_t i = 1; i < members.size(); ++i) {
      raw.pairs.emplace_back(occurrence(members[i]), occurrence(members[0]));
    }
    // The symmetries of the others follow from the smallest one's.
    for (std::uint32_t r = 0; r < 64; ++r) {
      if (rows.row(members[0]).symmetries >> r & 1) {
        raw.pairs.emplace_back(Occurrence{members[0], r}, occurrence(members[0]));
      }
    }
    add_alternatives(rows, members, words, raw.alternatives);
  }
  return raw;
}

namespace {

/// By node: the alternatives of each output.
using NodeAlternatives = std::map<std::uint32_t, std::vector<std::vector<Alternative>>>;

/// Collective. Those of the nodes that fall to this rank, whose rows are fetched.
NodeAlternatives gather_alternatives(TermRows& rows, const std::vector<Alternative>& alternatives,
                                     const runtime::Communicator& communicator) {
  std::vector<runtime::Bytes> outgoing(static_cast<std::size_t>(communicator.size()));
  for (const Alternative& alternative : alternatives) {
    runtime::append_value(outgoing[alternative.node % outgoing.size()], alternative);
  }
  NodeAlternatives nodes;
  std::vector<TermId> wanted;
  for (const runtime::Bytes& bytes : communicator.all_to_all(std::move(outgoing))) {
    for (const Alternative& alternative : runtime::values_of<Alternative>(bytes)) {
      auto& outputs = nodes[alternative.node];
      outputs.resize(std::max<std::size_t>(outputs.size(), alternative.output + 1));
      outputs[alternative.output].push_back(alternative);
      wanted.push_back(alternative.self);
      wanted.push_back(alternative.equal.term);
    }
  }
  rows.fetch(std::move(wanted));
  return nodes;
}

/// One candidate for each choice of an alternative for every output.
void add_choices(const std::vector<std::vector<Alternative>>& outputs, std::vector<RawCandidate>& found) {
  std::vector<std::size_t> choice(outputs.size(), 0);
  for (bool more = true; more;) {
    RawCandidate made;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      made.source.push_back(outputs[o][choice[o]].equal);
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

/// Those whose outputs hang together on both sides: others are products of smaller rules.
void keep_joint(const TermRows& rows, const Vocabulary& words, std::uint32_t max_ops, const runtime::Workers& workers,
                std::vector<RawCandidate>& found) {
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
}

}  // namespace

std::vector<RawCandidate> combine(TermRows& rows, const std::vector<Alternative>& alternatives, const Vocabulary& words,
                                  std::uint32_t max_ops, const runtime::Workers& workers,
                                  const runtime::Communicator& communicator) {
  std::vector<RawCandidate> found;
  for (auto& [node, outputs] : gather_alternatives(rows, alternatives, communicator)) {
    const bool complete =
        std::ranges::none_of(outputs, [](const auto& list) { return list.empty(); }) &&
        outputs.size() == words.instances[rows.row(outputs.back().front().self).instance]->outputs.size();
    if (!complete) continue;
    auto sorted = outputs;
    for (auto& list : sorted) std::ranges::sort(list, {}, [](const Alternative& a) { return a.equal.term; });
    add_choices(sorted, found);
  }
  keep_joint(rows, words, max_ops, workers, found);
  return found;
}

}  // namespace rulemill::dedup
