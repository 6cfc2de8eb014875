#include "prove/farm/team.h"

#include <algorithm>

#include "runtime/error.h"

namespace rulemill::prove {

namespace {

constexpr std::chrono::microseconds no_wait{0};
constexpr std::chrono::milliseconds start_time{30};
constexpr std::size_t many = 32;

}  // namespace

Team::Team(algebra::Library& library, const WorkerProcessOptions& options) {
  const unsigned count = options.command.empty() ? 1 : std::max(1U, options.helpers);
  for (unsigned i = 0; i < count; ++i) helpers_.push_back(std::make_unique<Member>(library, options));
}

void Team::change(const std::vector<std::string>& changes) {
  for (const auto& member : helpers_) member->helper.change(changes);
}

bool Team::has_idle(std::size_t waiting) const {
  bool any_started = false, any_to_start = false;
  for (const auto& member : helpers_) {
    const bool busy = member->helper.busy();
    if (!busy && member->helper.process() != nullptr) return true;
    (busy ? any_started : any_to_start) = true;
  }
  if (!any_started || !any_to_start) return any_to_start;
  return waiting >= many || std::chrono::steady_clock::now() - busy_since_ >= start_time;
}

bool Team::busy() const {
  return std::ranges::any_of(helpers_, [](const auto& member) { return member->helper.busy(); });
}

void Team::start(std::size_t number, const Task& task) {
  if (!busy()) busy_since_ = std::chrono::steady_clock::now();
  const auto is_idle = [](const auto& member) { return !member->helper.busy(); };
  auto idle = std::ranges::find_if(
      helpers_, [&](const auto& member) { return is_idle(member) && member->helper.process() != nullptr; });
  if (idle == helpers_.end()) idle = std::ranges::find_if(helpers_, is_idle);
  RM_CHECK(idle != helpers_.end(), "a helper is idle");
  (*idle)->task = number;
  (*idle)->helper.start(task);
}

std::vector<Team::Done> Team::poll(std::chrono::microseconds wait) {
  std::vector<Done> done;
  for (const auto& member : helpers_) {
    if (!member->helper.busy()) continue;
    if (auto answer = member->helper.finish(wait)) done.push_back({member->task, std::move(*answer)});
  }
  return done;
}

std::vector<Team::Done> Team::finished(std::chrono::microseconds wait) {
  const auto at_work = std::ranges::count_if(helpers_, [](const auto& member) { return member->helper.busy(); });
  if (at_work == 1) return poll(wait);
  std::vector<Done> done = poll(no_wait);
  if (!done.empty() || at_work == 0 || wait == no_wait) return done;
  std::vector<const runtime::Subprocess*> processes;
  for (const auto& member : helpers_) {
    if (member->helper.busy()) processes.push_back(member->helper.process());
  }
  runtime::Subprocess::wait_for_any(processes, wait);
  return poll(no_wait);
}

void Team::abandon() {
  for (const auto& member : helpers_) {
    if (member->helper.busy()) member->helper.abandon();
  }
}

std::uint64_t Team::restarts() const {
  std::uint64_t all = 0;
  for (const auto& member : helpers_) all += member->helper.restarts();
  return all;
}

}  // namespace rulemill::prove
