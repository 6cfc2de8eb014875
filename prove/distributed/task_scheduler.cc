#include "prove/distributed/task_scheduler.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "prove/distributed/task_partition.h"
#include "runtime/process/event_log.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/byte_lists.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

namespace {

/// The first byte of a message to another rank.
enum class Command : std::uint8_t { Work, End, Interrupt };

constexpr int work_tag = 21, answer_tag = 22, interrupt_tag = 23;
constexpr std::chrono::microseconds poll_interval{100};              // between polls for messages
constexpr std::chrono::microseconds no_wait{0}, long_wait{100'000};  // between polls for signals
constexpr std::chrono::microseconds short_wait{10'000};  // while tasks are queued: a worker may have to be started
constexpr double max_tasks_per_worker = 8;               // in the tasks assigned to a rank at a time
constexpr std::size_t min_items_for_progress = 1000;

runtime::Interrupted interrupted_in(const std::string& stage) {
  return {stage, "stopped; run the same command again to continue"};
}

/// Polls with pauses. MPI's blocking receive would keep a core busy that the workers need.
runtime::Communicator::Message next_message(const runtime::Communicator& communicator, int tag) {
  for (;;) {
    if (auto message = communicator.poll(runtime::Communicator::any_rank, tag)) return std::move(*message);
    std::this_thread::sleep_for(poll_interval);
  }
}

}  // namespace

TaskScheduler::TaskScheduler(const runtime::Communicator& communicator, algebra::Library& library,
                             const WorkerProcessOptions& options, std::string stage)
    : communicator_(communicator),
      pool_(library, options),
      stage_(std::move(stage)),
      updates_sent_(static_cast<std::size_t>(communicator.size()), 0),
      rank_statistics_(static_cast<std::size_t>(communicator.size())) {}

void TaskScheduler::run_collective(const std::function<void()>& manage) {
  const runtime::Stopwatch watch;
  if (!communicator_.is_root()) return serve();
  try {
    manage();
  } catch (const runtime::Interrupted&) {
    end_service(true);
    throw;
  }
  end_service(false);
  seconds_ += watch.seconds();
  for (RankStatistics& rank : rank_statistics_)
    rank.idle_seconds = seconds_ * static_cast<double>(pool_.size()) - rank.work.seconds;
}

void TaskScheduler::update_rules(const std::vector<std::string>& updates) {
  for (const std::string& update : updates) updates_hash_.add_text(update);
  if (cache_ != nullptr) cache_->update_rules(updates);
  updates_.insert(updates_.end(), updates.begin(), updates.end());
}

void TaskScheduler::use_cache(AnswerCache& cache) {
  cache_ = &cache;
  cache.update_rules(updates_);
}

void TaskScheduler::use_journal(runtime::Journal& journal) {
  journal_ = &journal;
  for (const runtime::Journal::Record& record : journal.records()) {
    journaled_[record.key] = std::string(runtime::text_of(record.payload));
  }
}

/// A hash of everything that an answer depends on: the item and the rule updates so far.
std::string TaskScheduler::journal_key(const WorkItem& item) const {
  return runtime::to_hex(updates_hash_.digest128()) +
         runtime::to_hex(runtime::hash128(runtime::bytes_of(item.text), static_cast<std::uint64_t>(item.kind)));
}

void TaskScheduler::count_answer(int rank, const Answer& answer) {
  RankStatistics& statistics = rank_statistics_[static_cast<std::size_t>(rank)];
  ++statistics.tasks;
  statistics.items += answer.items.size();
  statistics.work += answer.statistics;
  if (!answer.failure.empty()) ++failures_;
}

/// Returns the updates that were not sent to a rank yet.
std::vector<std::string> TaskScheduler::pending_updates(int rank) {
  std::size_t& sent = updates_sent_[static_cast<std::size_t>(rank)];
  std::vector<std::string> pending(updates_.begin() + static_cast<std::ptrdiff_t>(sent), updates_.end());
  sent = updates_.size();
  return pending;
}

/// The first rank's side of one call of answer_items().
struct TaskScheduler::Dispatcher {
  /// Tasks that a rank has not answered yet.
  using Assignment = std::vector<std::size_t>;

  Dispatcher(TaskScheduler& all, const std::vector<Task>& given, OnAnswer callback)
      : scheduler(all),
        tasks(given),
        on_answer(std::move(callback)),
        queue(given.size()),
        assignments(static_cast<std::size_t>(all.communicator_.size())),
        unanswered(given.size()) {
    std::iota(queue.begin(), queue.end(), 0);
    std::ranges::stable_sort(queue, {}, [&](std::size_t task) { return tasks[task].estimated_cost; });
    for (const Task& task : tasks) {
      queued_cost += task.estimated_cost;
      queued_items += task.items.size();
    }
  }

  void run() {
    while (unanswered > 0) {
      if (!interrupted && runtime::is_interrupted()) interrupted = true;
      if (interrupted) send_interrupt();
      if (interrupted && !has_assignments()) break;
      if (!interrupted) assign_tasks();
      const auto message = scheduler.communicator_.poll(runtime::Communicator::any_rank, answer_tag);
      if (message) receive_answers(*message);
      if (scheduler.pool_.is_busy()) {
        const auto timeout = message             ? no_wait
                             : has_assignments() ? poll_interval
                             : queue.empty()     ? long_wait
                                                 : short_wait;
        for (auto& [task, answer] : scheduler.pool_.wait_for_answers(timeout)) finish(0, task, answer);
        scheduler.rank_statistics_[0].restarts = scheduler.pool_.restarts();
      } else if (!message && has_assignments()) {
        std::this_thread::sleep_for(poll_interval);
      }
    }
    if (interrupted) throw interrupted_in(scheduler.stage_);
  }

  /// Assigns several tasks to each other rank that has none, then single tasks to the workers of this rank.
  void assign_tasks() {
    for (std::size_t rank = assignments.size() - 1; rank > 0; --rank) {
      if (!assignments[rank].empty() || queue.empty()) continue;
      assignments[rank] = next_assignment();
      std::vector<std::string> packed;
      for (const std::size_t task : assignments[rank]) packed.push_back(pack(tasks[task]));
      runtime::Bytes message;
      runtime::append_value(message, Command::Work);
      runtime::append_texts(message, scheduler.pending_updates(static_cast<int>(rank)));
      runtime::append_texts(message, packed);
      scheduler.communicator_.send(static_cast<int>(rank), work_tag, message);
    }
    while (!queue.empty() && scheduler.pool_.has_idle(queued_items)) {
      scheduler.pool_.update_rules(scheduler.pending_updates(0));
      const std::size_t task = next_task();
      scheduler.pool_.start(task, tasks[task]);
    }
  }

  std::size_t next_task() {
    const std::size_t task = queue.back();
    queue.pop_back();
    queued_cost -= tasks[task].estimated_cost;
    queued_items -= tasks[task].items.size();
    return task;
  }

  /// Takes tasks off the queue: at least one per worker, and few enough that all ranks finish at about the same time.
  Assignment next_assignment() {
    const auto workers = static_cast<double>(scheduler.pool_.size());
    const double share = queued_cost / (4.0 * static_cast<double>(assignments.size()));
    const auto is_below = [](const Assignment& assigned, double limit) {
      return static_cast<double>(assigned.size()) < limit;
    };
    Assignment assigned;
    for (double cost = 0; !queue.empty() && is_below(assigned, max_tasks_per_worker * workers) &&
                          (is_below(assigned, workers) || cost < share);) {
      assigned.push_back(next_task());
      cost += tasks[assigned.back()].estimated_cost;
    }
    return assigned;
  }

  void receive_answers(const runtime::Communicator::Message& message) {
    runtime::ByteView rest = message.bytes;
    const Assignment assigned = std::exchange(assignments[static_cast<std::size_t>(message.from)], {});
    scheduler.rank_statistics_[static_cast<std::size_t>(message.from)].restarts =
        runtime::take_value<std::uint64_t>(rest);
    interrupted |= runtime::take_value<bool>(rest);
    // An interrupted rank answers only the first of its tasks.
    std::size_t position = 0;
    for (const std::string& packed : runtime::take_texts(rest))
      finish(message.from, assigned.at(position++), unpack_answer(packed));
  }

  void finish(int rank, std::size_t task, const Answer& answer) {
    scheduler.count_answer(rank, answer);
    --unanswered;
    on_answer(task, answer);
  }

  void send_interrupt() {
    if (std::exchange(interrupt_sent, true)) return;
    for (std::size_t rank = 1; rank < assignments.size(); ++rank) {
      if (!assignments[rank].empty()) scheduler.communicator_.send(static_cast<int>(rank), interrupt_tag, {});
    }
    scheduler.pool_.abandon();
  }

  bool has_assignments() const {
    return std::ranges::any_of(assignments, [](const Assignment& assigned) { return !assigned.empty(); });
  }

  TaskScheduler& scheduler;
  const std::vector<Task>& tasks;
  OnAnswer on_answer;
  std::vector<std::size_t> queue;       // most expensive task last
  double queued_cost = 0;               // estimated cost of the queue
  std::size_t queued_items = 0;         // items of the queue
  std::vector<Assignment> assignments;  // by rank; empty for the first rank, whose workers get single tasks
  std::size_t unanswered;
  bool interrupted = false, interrupt_sent = false;
};

/// Returns the answer of the journal or of the cache.
std::optional<std::string> TaskScheduler::known_answer(const WorkItem& item) const {
  if (journal_ != nullptr) {
    if (const auto found = journaled_.find(journal_key(item)); found != journaled_.end()) return found->second;
  }
  return cache_ == nullptr ? std::nullopt : cache_->find(item.kind, item.text);
}

std::vector<TaskScheduler::ItemAnswer> TaskScheduler::answer_items(const std::vector<WorkItem>& items) {
  runtime::throw_if_interrupted(stage_);
  std::vector<ItemAnswer> answers(items.size());
  std::vector<WorkItem> unknown;
  std::vector<std::size_t> numbers;  // of the unknown items
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (std::optional<std::string> known = known_answer(items[i])) {
      answers[i].text = std::move(*known);
      continue;
    }
    unknown.push_back(items[i]);
    if (cache_ != nullptr) unknown.back().text = cache_->item_to_schedule(items[i].kind, items[i].text);
    numbers.push_back(i);
  }
  const std::vector<TaskItems> parts =
      partition(unknown, pool_.size() * static_cast<std::size_t>(communicator_.size()));
  std::vector<Task> tasks;
  for (const TaskItems& part : parts) {
    Task& task = tasks.emplace_back(Task{unknown[part.items[0]].kind, {}, part.estimated_cost});
    for (const std::size_t item : part.items) task.items.push_back(unknown[item].text);
  }
  std::optional<runtime::Progress> progress;
  if (unknown.size() >= min_items_for_progress)
    progress.emplace(progress_, stage_ + ", " + task_name(unknown[0].kind), unknown.size());
  const runtime::Stopwatch watch;
  TaskStatistics statistics;
  Dispatcher(*this, tasks, [&](std::size_t t, const Answer& fresh) {
    statistics += fresh.statistics;
    for (std::size_t i = 0; i < parts[t].items.size(); ++i) {
      const std::size_t number = numbers[parts[t].items[i]];
      ItemAnswer& answer = answers[number];
      answer.failure = fresh.failure;
      // A failure may be due to a time or memory limit: it is not kept.
      if (!fresh.failure.empty()) continue;
      answer.text = fresh.items.at(i);
      if (cache_ != nullptr) cache_->add(tasks[t].kind, tasks[t].items[i], answer.text);
      if (journal_ != nullptr) journal_->append(journal_key(items[number]), answer.text);
    }
    if (progress) progress->advance(parts[t].items.size());
  }).run();
  if (!unknown.empty()) {
    runtime::log_event("tasks", {{"stage", stage_},
                                 {"what", task_name(unknown[0].kind)},
                                 {"items", unknown.size()},
                                 {"seconds", watch.seconds()},
                                 {"work_seconds", statistics.seconds},
                                 {"longest_seconds", statistics.longest_seconds}});
  }
  if (cache_ != nullptr) cache_->sync();
  if (journal_ != nullptr) journal_->sync();
  return answers;
}

std::vector<std::string> TaskScheduler::answer_items(TaskKind kind, const std::vector<std::string>& items,
                                                     const std::function<std::string(const std::string&)>& failed) {
  std::vector<WorkItem> work;
  for (const std::string& item : items) work.push_back({kind, item});
  std::vector<std::string> result;
  for (ItemAnswer& answer : answer_items(work)) {
    if (!answer.failure.empty() && !failed) throw runtime::Error("worker process", answer.failure);
    result.push_back(answer.failure.empty() ? std::move(answer.text) : failed(answer.failure));
  }
  return result;
}

/// Returns the answers to the first tasks: to all of them, unless this rank or the first rank is interrupted. The other
/// tasks are run again later.
std::vector<Answer> TaskScheduler::run_until_interrupted(const std::vector<Task>& tasks) {
  std::vector<std::optional<Answer>> answers(tasks.size());
  std::size_t queued_items = 0;
  for (const Task& task : tasks) queued_items += task.items.size();
  for (std::size_t next = 0; next < tasks.size() || pool_.is_busy();) {
    while (next < tasks.size() && pool_.has_idle(queued_items)) {
      queued_items -= tasks[next].items.size();
      pool_.start(next, tasks[next]);
      ++next;
    }
    if (runtime::is_interrupted() || communicator_.poll(0, interrupt_tag)) {
      pool_.abandon();
      break;
    }
    for (auto& [task, answer] : pool_.wait_for_answers(next < tasks.size() ? short_wait : long_wait))
      answers[task] = std::move(answer);
  }
  std::vector<Answer> result;
  for (std::size_t i = 0; i < answers.size() && answers[i]; ++i) result.push_back(std::move(*answers[i]));
  return result;
}

/// Runs assignments of the first rank. A rank sends only in reply to an assignment, so that no two ranks wait to send
/// to each other.
void TaskScheduler::serve() {
  for (;;) {
    const runtime::Communicator::Message message = next_message(communicator_, work_tag);
    runtime::ByteView rest = message.bytes;
    const auto command = runtime::take_value<Command>(rest);
    if (command != Command::Work) {
      while (communicator_.poll(0, interrupt_tag)) {
      }
      if (command == Command::Interrupt) throw interrupted_in(stage_);
      return;
    }
    pool_.update_rules(runtime::take_texts(rest));
    std::vector<Task> tasks;
    for (const std::string& packed : runtime::take_texts(rest)) tasks.push_back(unpack_task(packed));
    std::vector<std::string> answers;
    for (const Answer& answer : run_until_interrupted(tasks)) answers.push_back(pack(answer));
    runtime::Bytes reply;
    runtime::append_value(reply, pool_.restarts());
    runtime::append_value(reply, runtime::is_interrupted());
    runtime::append_texts(reply, answers);
    communicator_.send(0, answer_tag, reply);
  }
}

void TaskScheduler::end_service(bool interrupted) {
  const Command command = interrupted ? Command::Interrupt : Command::End;
  for (int rank = 1; rank < communicator_.size(); ++rank)
    communicator_.send(rank, work_tag, runtime::bytes_of(std::span(&command, 1)));
}

}  // namespace rulemill::prove
