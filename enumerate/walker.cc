#include "enumerate/walker.h"

#include <algorithm>
#include <bit>

namespace rulemill::enumerate {
namespace {

/// Both sorted and short.
std::size_t shared_nodes(std::span<const NodeId> a, std::span<const NodeId> b) {
  std::size_t shared = 0;
  for (const NodeId n : a) shared += std::ranges::find(b, n) != b.end() ? 1 : 0;
  return shared;
}

}  // namespace

bool Enumerator::Walker::lane_fits(const Signature& signature, const Unit& unit, TermId t,
                                   std::span<const NodeId> below) const {
  if (!owner_.kind_allowed(signature.family, unit.open, t)) return false;
  for (const RequiredPosition& required : signature.required) {
    if (required.argument == unit.open && !owner_.has_position(t, required)) return false;
  }
  return below.empty() || terms_.is_variable(t) || shared_nodes(below, terms_.closure_of_term(t)) == 0;
}

template <class Body>
void Enumerator::Walker::each_block(const Unit& unit, const Body& body) {
  if (unit.group == no_id) return body(0U, std::uint8_t{1});
  const Signature& signature = signatures_[unit.signature];
  const Family& family = signatures_.families()[signature.family];
  const std::vector<TermId>& members = terms_.groups()[unit.group].members;
  const std::vector<NodeId> below = owner_.union_of(fixed(unit));
  // Commutative: the other argument comes first by id, so that each pair is met once.
  const bool ordered = family.commutative && terms_.groups()[unit.group].level == terms_.level(fixed(unit)[0]);
  const auto first = ordered ? std::ranges::lower_bound(members, fixed(unit)[0]) : members.begin();
  const auto start = static_cast<std::size_t>(first - members.begin());
  for (std::size_t block = start / group_block; block * group_block < members.size(); ++block) {
    std::uint8_t lanes = 0;
    for (std::size_t lane = 0; lane < group_block; ++lane) {
      const std::size_t at = block * group_block + lane;
      if (at < start || at >= members.size()) continue;
      if (lane_fits(signature, unit, members[at], below)) lanes = static_cast<std::uint8_t>(lanes | 1u << lane);
    }
    if (lanes != 0) body(static_cast<std::uint32_t>(block), lanes);
  }
}

void Enumerator::Walker::find_overlapping(std::span<const NodeId> nodes, std::uint32_t lowest_level) {
  overlapping_.clear();
  const auto users = [&](NodeId n, std::uint32_t level) {
    const auto all =
        std::span(owner_.users_).subspan(owner_.first_user_[n], owner_.first_user_[n + 1] - owner_.first_user_[n]);
    const auto begin = std::ranges::lower_bound(all, owner_.first_of_level_[level]);
    const auto end = std::ranges::lower_bound(begin, all.end(), owner_.first_of_level_[level + 1]);
    return std::span<const TermId>(begin, end);
  };
  const std::size_t target = owner_.level_ - 1;
  for (std::uint32_t level = std::max<std::uint32_t>(1, lowest_level); level <= target; ++level) {
    if (level + nodes.size() <= target) continue;  // these would be disjoint: dense
    const std::size_t shared = level + nodes.size() - target;
    if (shared > nodes.size() || shared > level) continue;
    const auto keep = [&](std::span<const TermId> list) {
      for (const TermId t : list) {
        if (shared_nodes(nodes, terms_.closure_of_term(t)) == shared) overlapping_.push_back(t);
      }
    };
    if (shared == nodes.size()) {  // all of them: those above the one with the fewest
      std::span<const TermId> shortest = users(nodes[0], level);
      for (const NodeId n : nodes) {
        if (const auto list = users(n, level); list.size() < shortest.size()) shortest = list;
      }
      keep(shortest);
    } else {
      for (const NodeId n : nodes) keep(users(n, level));
    }
  }
  std::ranges::sort(overlapping_);
  overlapping_.erase(std::unique(overlapping_.begin(), overlapping_.end()), overlapping_.end());
}

template <class Body>
void Enumerator::Walker::each_sparse(const Unit& unit, const Body& body) {
  const auto prefix = fixed(unit);
  const std::vector<NodeId> below = owner_.union_of(prefix);
  const bool binary = unit.signature == no_id;
  find_overlapping(below, binary ? terms_.level(prefix[0]) : 1);
  if (overlapping_.empty()) return;
  std::array<TypeId, max_arity> types{};
  for (std::size_t i = 0; i < prefix.size(); ++i) types[i] = terms_.type(prefix[i]);

  struct Opening {
    std::uint32_t family, open;
    const std::vector<Completion>* completions;
  };
  std::vector<Opening> openings;
  const auto add = [&](std::uint32_t family, std::uint32_t open) {
    const auto& list = signatures_.completions(family, open, std::span(types).first(prefix.size()));
    if (!list.empty()) openings.push_back({family, open, &list});
  };
  if (binary) {
    for (std::uint32_t f = 0; f < signatures_.families().size(); ++f) {
      if (signatures_.families()[f].arity != 2) continue;
      add(f, 1);
      if (!signatures_.families()[f].commutative) add(f, 0);
    }
  } else {
    add(unit.signature, unit.open);
  }
  std::array<TermId, max_arity> arguments{};
  for (const TermId t : overlapping_) {
    const bool same_level = binary && terms_.level(t) == terms_.level(prefix[0]);
    for (const Opening& opening : openings) {
      const Family& family = signatures_.families()[opening.family];
      if (same_level && (opening.open == 0 || (family.commutative && t < prefix[0]))) continue;
      const auto range = std::ranges::equal_range(*opening.completions, terms_.type(t), {}, &Completion::type);
      for (const Completion& completion : range) {
        const Signature& signature = signatures_[completion.signature];
        Unit open_unit;
        open_unit.open = static_cast<std::uint8_t>(opening.open);
        if (!owner_.fixed_fit(signature, opening.open, prefix) || !lane_fits(signature, open_unit, t, {})) continue;
        for (std::uint32_t i = 0, f = 0; i < signature.arguments.size(); ++i) {
          arguments[i] = i == opening.open ? t : prefix[f++];
        }
        body(completion.signature, std::span<const TermId>(arguments).first(signature.arguments.size()));
      }
    }
  }
}

LevelCounts Enumerator::Walker::count(const Unit& unit) {
  LevelCounts counts;
  if (unit.sparse) {
    each_sparse(unit, [&](SignatureId signature, std::span<const TermId>) {
      owner_.mark_used(signature);
      ++counts.nodes;
      counts.terms += signatures_[signature].outputs.size();
    });
    return counts;
  }
  each_block(unit,
             [&](std::uint32_t, std::uint8_t lanes) { counts.nodes += static_cast<unsigned>(std::popcount(lanes)); });
  counts.terms = counts.nodes * signatures_[unit.signature].outputs.size();
  if (counts.nodes != 0) owner_.mark_used(unit.signature);
  return counts;
}

std::uint64_t Enumerator::Walker::count_nodes(const Unit& unit, std::uint64_t row) {
  std::uint64_t nodes = 0, at = unit.first_row;
  each_sparse(unit, [&](SignatureId signature, std::span<const TermId>) {
    nodes += at < row ? 1 : 0;
    at += signatures_[signature].outputs.size();
  });
  return nodes;
}

void Enumerator::Walker::visit(const Unit& unit, std::uint64_t first, std::uint64_t last, NodeSink& sink) {
  std::uint64_t row = unit.first_row;
  if (unit.sparse) {
    each_sparse(unit, [&](SignatureId signature, std::span<const TermId> arguments) {
      if (row >= first && row < last) sink.single(signature, arguments, row);
      row += signatures_[signature].outputs.size();
    });
    return;
  }
  const std::size_t outputs = signatures_[unit.signature].outputs.size();
  each_block(unit, [&](std::uint32_t block, std::uint8_t lanes) {
    if (row >= last) return;
    const std::uint64_t end = row + static_cast<unsigned>(std::popcount(lanes)) * outputs;
    if (end > first) {
      std::uint64_t start = row;
      if (row < first || end > last) {
        std::uint8_t inside = 0;
        std::uint64_t at = row;
        start = last;
        for (std::uint32_t lane = 0; lane < group_block; ++lane) {
          if (!(lanes >> lane & 1)) continue;
          if (at >= first && at < last) {
            inside = static_cast<std::uint8_t>(inside | 1u << lane);
            start = std::min(start, at);
          }
          at += outputs;
        }
        lanes = inside;
      }
      if (lanes != 0) sink.block(unit.signature, fixed(unit), unit.open, unit.group, block, lanes, start);
    }
    row = end;
  });
}

}  // namespace rulemill::enumerate
