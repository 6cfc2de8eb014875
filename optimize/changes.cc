#include "optimize/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace rulemill::optimize {

namespace {

/// Boxes of both drawings, those of the second after those of the first.
class Parts {
 public:
  Parts(const Drawing& before, const Drawing& after)
      : sides_{&before, &after}, parent_(before.boxes.size() + after.boxes.size()) {
    std::iota(parent_.begin(), parent_.end(), 0U);
    join_neighbours(before, 0);
    join_neighbours(after, first_after());
    join_sides();
  }

  /// In the order of the model: by the first box of each.
  std::vector<Change> changes() {
    std::map<std::uint32_t, Change> by_root;
    for (std::uint32_t i = 0; i < parent_.size(); ++i) {
      if (!box(i).only_here) continue;
      Change& change = by_root[root(i)];
      (i < first_after() ? change.before : change.after).push_back(i < first_after() ? i : i - first_after());
    }
    std::vector<Change> result;
    for (auto& [root, change] : by_root) result.push_back(std::move(change));
    const auto place = [](const Change& each) { return each.before.empty() ? each.after.at(0) : each.before[0]; };
    std::ranges::stable_sort(result, {}, place);
    return result;
  }

 private:
  std::uint32_t first_after() const { return static_cast<std::uint32_t>(sides_[0]->boxes.size()); }
  const Drawing::Box& box(std::uint32_t i) const {
    return i < first_after() ? sides_[0]->boxes[i] : sides_[1]->boxes[i - first_after()];
  }
  std::uint32_t root(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    if (box(a).only_here && box(b).only_here) parent_[std::max(root(a), root(b))] = std::min(root(a), root(b));
  }

  void join_neighbours(const Drawing& drawing, std::uint32_t first) {
    for (std::uint32_t i = 0; i < drawing.boxes.size(); ++i) {
      for (const std::uint32_t input : drawing.boxes[i].inputs) join(first + i, first + input);
    }
  }

  /// One name, or one place among what a box takes that stayed.
  void join_sides() {
    std::map<std::string, std::uint32_t> named;
    for (std::uint32_t i = 0; i < first_after(); ++i) named.emplace(box(i).name, i);
    for (std::uint32_t i = first_after(); i < parent_.size(); ++i) {
      const auto same = named.find(box(i).name);
      if (same == named.end()) continue;
      join(same->second, i);
      const auto &was = box(same->second).inputs, &is = box(i).inputs;
      for (std::size_t k = 0; k < std::min(was.size(), is.size()); ++k) join(was[k], first_after() + is[k]);
    }
  }

  const Drawing* sides_[2];
  std::vector<std::uint32_t> parent_;
};

/// All that is seen of it but names and sizes.
std::string looks_of(const Drawing& drawing) {
  const auto rank = [](const std::string& shape) { return std::ranges::count(shape, '\x97'); };  // of ×, its last byte
  std::string text;
  for (const Drawing::Box& box : drawing.boxes) {
    text += fmt::format("{}{}:", box.is_input ? "input" : box.label, box.only_here ? "!" : "");
    for (const std::uint32_t input : box.inputs) text += fmt::format(" {}", input);
    for (const Drawing::Constant& constant : box.constants) text += fmt::format(" [{}]", rank(constant.shape));
    text += fmt::format(" -> {}\n", rank(box.shape));
  }
  return text;
}

/// Parts of one stretch that are the same one after the other.
std::vector<Stretch::Part> counted(const std::vector<Stretch::Part>& parts) {
  std::vector<Stretch::Part> result;
  for (std::size_t i = 0; i < parts.size();) {
    std::size_t end = i + 1;
    while (end < parts.size() && parts[end] == parts[i]) ++end;
    result.push_back(parts[i]);
    if (end - i > 1) result.back().words = fmt::format("{} × {}", end - i, parts[i].words);
    i = end;
  }
  return result;
}

constexpr std::size_t longest_period = 128;

}  // namespace

std::vector<ChangeKind> changes_between(const Drawing& before, const Drawing& after) {
  std::vector<ChangeKind> kinds;
  std::map<std::string, std::size_t> known;
  for (Change& change : Parts(before, after).changes()) {
    Drawing was = part_of(before, change.before), is = part_of(after, change.after);
    const auto [entry, fresh] = known.emplace(looks_of(was) + "=>\n" + looks_of(is), kinds.size());
    if (fresh) kinds.push_back({std::move(was), std::move(is), {}});
    kinds[entry->second].changes.push_back(std::move(change));
  }
  return kinds;
}

std::vector<Stretch> outline_of(const Drawing& before, const std::vector<ChangeKind>& kinds) {
  std::map<std::uint32_t, int> first_of;  // boxes that a change begins with
  std::vector<bool> in_change(before.boxes.size());
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    for (const Change& change : kinds[kind].changes) {
      for (const std::uint32_t box : change.before) in_change[box] = true;
      if (!change.before.empty()) first_of[change.before[0]] = static_cast<int>(kind);
    }
  }
  std::vector<Stretch::Part> parts;
  for (std::uint32_t i = 0; i < before.boxes.size(); ++i) {
    if (first_of.contains(i)) parts.push_back({"", first_of[i]});
    if (!in_change[i] && !before.boxes[i].is_input) parts.push_back({before.boxes[i].label, -1});
  }
  std::vector<Stretch> outline;
  const auto single = [&](const Stretch::Part& part) {
    if (outline.empty() || outline.back().times > 1) outline.emplace_back();
    outline.back().parts.push_back(part);
  };
  for (std::size_t i = 0; i < parts.size();) {
    const auto at = parts.begin() + static_cast<std::ptrdiff_t>(i);
    // The period that repeats over most of what follows, the shortest of these; single operators are counted later.
    std::size_t best = 0, covered = 0;
    for (std::size_t period = 2; period <= std::min(longest_period, (parts.size() - i) / 2); ++period) {
      std::size_t end = i + period;
      while (end < parts.size() && parts[end] == parts[end - period]) ++end;
      const std::size_t whole = (end - i) / period * period;
      if (end < i + 2 * period || counted({at, at + static_cast<std::ptrdiff_t>(period)}).size() < 2) continue;
      if (whole > covered) best = period, covered = whole;
    }
    if (best == 0) {
      single(parts[i++]);
      continue;
    }
    outline.push_back({covered / best, {at, at + static_cast<std::ptrdiff_t>(best)}});
    i += covered;
  }
  for (Stretch& stretch : outline) stretch.parts = counted(stretch.parts);
  return outline;
}

}  // namespace rulemill::optimize
