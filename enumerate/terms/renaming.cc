#include "enumerate/terms/renaming.h"

#include <algorithm>
#include <functional>

#include "runtime/text/error.h"

namespace rulemill::enumerate {

std::uint8_t RenamingList::image(std::uint32_t renaming, std::uint8_t variable) const {
  const auto at = std::ranges::lower_bound(variables, variable) - variables.begin();
  return images[renaming * variables.size() + static_cast<std::size_t>(at)];
}

Renamings::Renamings(const Profile& profile, bool no_symmetry) {
  const auto& variables = profile.variables;
  if (variables.size() > max_variables)
    throw runtime::InputError(variables[max_variables].place,
                              "a profile can have at most " + std::to_string(max_variables) + " variables");
  for (std::size_t v = 0; v < variables.size(); ++v) {
    std::size_t sort = members_.size();
    for (std::size_t u = 0; u < v && !no_symmetry; ++u) {
      if (variables[u].shape == variables[v].shape && variables[u].role == variables[v].role) sort = sort_[u];
    }
    if (sort == members_.size()) members_.emplace_back();
    sort_.push_back(static_cast<std::uint8_t>(sort));
    for (const std::uint8_t earlier : members_[sort]) swaps_.push_back({earlier, static_cast<std::uint8_t>(v)});
    members_[sort].push_back(static_cast<std::uint8_t>(v));
  }
  RM_CHECK(swaps_.size() <= 256, "too many pairs of interchangeable variables");
}

std::uint8_t Renamings::swap_of(std::uint8_t a, std::uint8_t b) const {
  const auto found = std::ranges::find_if(
      swaps_, [&](const Swap& swap) { return swap.a == std::min(a, b) && swap.b == std::max(a, b); });
  return static_cast<std::uint8_t>(found - swaps_.begin());
}

std::unique_ptr<RenamingList> Renamings::make(VariableSet set) const {
  auto list = std::make_unique<RenamingList>();
  for (std::uint8_t v = 0; v < sort_.size(); ++v) {
    if (set >> v & 1) list->variables.push_back(v);
  }
  const std::size_t size = list->variables.size();
  std::vector<std::vector<std::uint8_t>> all;
  std::vector<std::uint8_t> chosen;
  VariableSet taken = 0;
  const std::function<void()> choose = [&] {
    if (chosen.size() == size) {
      all.push_back(chosen);
      return;
    }
    for (const std::uint8_t image : members_[sort_[list->variables[chosen.size()]]]) {
      if (taken >> image & 1) continue;
      taken |= VariableSet{1} << image;
      chosen.push_back(image);
      choose();
      chosen.pop_back();
      taken &= ~(VariableSet{1} << image);
    }
  };
  choose();
  const auto identity = std::ranges::find(all, list->variables);
  std::rotate(all.begin(), identity, identity + 1);

  list->count = static_cast<std::uint32_t>(all.size());
  list->first_swap.push_back(0);
  for (const auto& images : all) {
    list->images.insert(list->images.end(), images.begin(), images.end());
    // Swaps that map one variable after the other to its image.
    std::vector<std::uint8_t> now(sort_.size());
    for (std::uint8_t v = 0; v < now.size(); ++v) now[v] = v;
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint8_t from = now[list->variables[i]], to = images[i];
      if (from == to) continue;
      list->swaps.push_back(swap_of(from, to));
      for (std::uint8_t& place : now) place = place == from ? to : place == to ? from : place;
    }
    list->first_swap.push_back(static_cast<std::uint32_t>(list->swaps.size()));
  }
  return list;
}

const RenamingList& Renamings::of(VariableSet set) const {
  const std::scoped_lock lock(mutex_);
  auto& list = lists_[set];
  if (!list) list = make(set);
  return *list;
}

const std::vector<std::uint32_t>& Renamings::restriction(VariableSet set, VariableSet subset) const {
  const RenamingList& whole = of(set);
  const RenamingList& small = of(subset);
  const std::scoped_lock lock(mutex_);
  auto& numbers = restrictions_[{set, subset}];
  if (numbers) return *numbers;
  std::map<std::vector<std::uint8_t>, std::uint32_t> known;
  const std::size_t size = small.variables.size();
  for (std::uint32_t r = 0; r < small.count; ++r) {
    const auto begin = small.images.begin() + static_cast<std::ptrdiff_t>(r * size);
    known.emplace(std::vector<std::uint8_t>(begin, begin + static_cast<std::ptrdiff_t>(size)), r);
  }
  numbers = std::make_unique<std::vector<std::uint32_t>>();
  for (std::uint32_t r = 0; r < whole.count; ++r) {
    std::vector<std::uint8_t> images;
    for (const std::uint8_t v : small.variables) images.push_back(whole.image(r, v));
    numbers->push_back(known.at(images));
  }
  return *numbers;
}

}  // namespace rulemill::enumerate
