#include "optimize/report/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace rulemill::optimize {
namespace {

/// The connected components of changed boxes of both drawings. The boxes of the second are numbered after the first.
class ChangeComponents {
 public:
  ChangeComponents(const Drawing& before, const Drawing& after)
      : sides_{&before, &after}, parent_(before.boxes.size() + after.boxes.size()) {
    std::iota(parent_.begin(), parent_.end(), 0U);
    join_neighbours(before, 0);
    join_neighbours(after, first_after());
    join_sides();
  }

  /// Returns the changes in the order of their first boxes.
  std::vector<Change> changes() {
    std::map<std::uint32_t, Change> by_root;
    for (std::uint32_t i = 0; i < parent_.size(); ++i) {
      if (!box(i).changed) continue;
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
    if (box(a).changed && box(b).changed) parent_[std::max(root(a), root(b))] = std::min(root(a), root(b));
  }

  void join_neighbours(const Drawing& drawing, std::uint32_t first) {
    for (std::uint32_t i = 0; i < drawing.boxes.size(); ++i) {
      for (const std::uint32_t input : drawing.boxes[i].inputs) join(first + i, first + input);
    }
  }

  /// Joins boxes of both drawings that have the same name, or that are the same input of boxes with the same name.
  void join_sides() {
    std::map<std::string, std::uint32_t> named;
    for (std::uint32_t i = 0; i < first_after(); ++i) named.emplace(box(i).name, i);
    for (std::uint32_t i = first_after(); i < parent_.size(); ++i) {
      const auto same = named.find(box(i).name);
      if (same == named.end()) continue;
      join(same->second, i);
      const auto &before = box(same->second).inputs, &after = box(i).inputs;
      for (std::size_t k = 0; k < std::min(before.size(), after.size()); ++k) join(before[k], first_after() + after[k]);
    }
  }

  const Drawing* sides_[2];
  std::vector<std::uint32_t> parent_;
};

/// Returns a text of all visible properties except names and sizes.
std::string appearance_key(const Drawing& drawing) {
  const auto rank = [](const std::string& shape) { return std::ranges::count(shape, '\x97'); };  // the last byte of ×
  std::string text;
  for (const Drawing::Box& box : drawing.boxes) {
    text += fmt::format("{}{}:", box.is_input ? "input" : box.label, box.changed ? "!" : "");
    for (const std::uint32_t input : box.inputs) text += fmt::format(" {}", input);
    for (const Drawing::Constant& constant : box.constants) text += fmt::format(" [{}]", rank(constant.shape));
    text += fmt::format(" -> {}\n", rank(box.shape));
  }
  return text;
}

/// Replaces equal consecutive items by one with a count.
std::vector<Stretch::Item> merge_repeated(const std::vector<Stretch::Item>& items) {
  std::vector<Stretch::Item> result;
  for (std::size_t i = 0; i < items.size();) {
    std::size_t end = i + 1;
    while (end < items.size() && items[end] == items[i]) ++end;
    result.push_back(items[i]);
    if (end - i > 1) result.back().text = fmt::format("{} × {}", end - i, items[i].text);
    i = end;
  }
  return result;
}

constexpr std::size_t max_period = 128;

}  // namespace

std::vector<ChangeGroup> changes_between(const Drawing& before, const Drawing& after) {
  std::vector<ChangeGroup> groups;
  std::map<std::string, std::size_t> known;
  for (Change& change : ChangeComponents(before, after).changes()) {
    Drawing before_excerpt = excerpt(before, change.before), after_excerpt = excerpt(after, change.after);
    const auto [entry, fresh] =
        known.emplace(appearance_key(before_excerpt) + "=>\n" + appearance_key(after_excerpt), groups.size());
    if (fresh) groups.push_back({std::move(before_excerpt), std::move(after_excerpt), {}});
    groups[entry->second].changes.push_back(std::move(change));
  }
  return groups;
}

std::vector<Stretch> outline_of(const Drawing& before, const std::vector<ChangeGroup>& groups) {
  std::map<std::uint32_t, int> first_of;  // by the first box of a change
  std::vector<bool> in_change(before.boxes.size());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const Change& change : groups[group].changes) {
      for (const std::uint32_t box : change.before) in_change[box] = true;
      if (!change.before.empty()) first_of[change.before[0]] = static_cast<int>(group);
    }
  }
  std::vector<Stretch::Item> items;
  for (std::uint32_t i = 0; i < before.boxes.size(); ++i) {
    if (first_of.contains(i)) items.push_back({"", first_of[i]});
    if (!in_change[i] && !before.boxes[i].is_input) items.push_back({before.boxes[i].label, -1});
  }
  std::vector<Stretch> outline;
  const auto add_single = [&](const Stretch::Item& item) {
    if (outline.empty() || outline.back().times > 1) outline.emplace_back();
    outline.back().items.push_back(item);
  };
  for (std::size_t i = 0; i < items.size();) {
    const auto at = items.begin() + static_cast<std::ptrdiff_t>(i);
    // The shortest of the periods whose repetitions cover the most items. Repeated single items are merged later.
    std::size_t best = 0, covered = 0;
    for (std::size_t period = 2; period <= std::min(max_period, (items.size() - i) / 2); ++period) {
      std::size_t end = i + period;
      while (end < items.size() && items[end] == items[end - period]) ++end;
      const std::size_t whole = (end - i) / period * period;
      if (end < i + 2 * period || merge_repeated({at, at + static_cast<std::ptrdiff_t>(period)}).size() < 2) continue;
      if (whole > covered) best = period, covered = whole;
    }
    if (best == 0) {
      add_single(items[i++]);
      continue;
    }
    outline.push_back({covered / best, {at, at + static_cast<std::ptrdiff_t>(best)}});
    i += covered;
  }
  for (Stretch& stretch : outline) stretch.items = merge_repeated(stretch.items);
  return outline;
}

}  // namespace rulemill::optimize
