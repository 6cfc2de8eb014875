#include "prove/distributed/task_scheduler.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "prove/distributed/task_queue.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/log.h"
#include "runtime/process/machine.h"
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
constexpr std::size_t items_ahead = 256;                 // looked up before a worker needs them
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
  for (runtime::Journal::Record& record : journal.take_records())
    journaled_.insert_or_assign(std::move(record.key), record.location);
}

/// A hash of everything that an answer depends on: the item and the rule updates so far.
std::string TaskScheduler::journal_key(TaskKind kind, const std::string& item) const {
  return runtime::to_hex(updates_hash_.digest128()) +
         runtime::to_hex(runtime::hash128(runtime::bytes_of(item), static_cast<std::uint64_t>(kind)));
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

/// The first rank's side of one batch.
struct TaskScheduler::Dispatcher {
  /// Numbers of tasks that a rank has not answered yet.
  using Assignment = std::vector<std::size_t>;
  using OnAnswer = std::function<void(const QueuedTask&, Answer)>;

  Dispatcher(TaskScheduler& all, TaskQueue& tasks, OnAnswer callback)
      : scheduler(all),
        queue(tasks),
        on_answer(std::move(callback)),
        assignments(static_cast<std::size_t>(all.communicator_.size())) {}

  void run() {
    while (!queue.is_empty() || !unanswered.empty()) {
      if (!interrupted && runtime::is_interrupted()) interrupted = true;
      if (interrupted) send_interrupt();
      if (interrupted && !has_assignments()) break;
      if (!interrupted) assign_tasks();
      if (!interrupted) queue.look_ahead(items_ahead);
      const bool is_ahead = !queue.has_unseen() || queue.queued_items() >= items_ahead;
      const auto message = scheduler.communicator_.poll(runtime::Communicator::any_rank, answer_tag);
      if (message) receive_answers(*message);
      if (scheduler.pool_.is_busy()) {
        const auto timeout = message || !is_ahead ? no_wait
                             : has_assignments()  ? poll_interval
                             : queue.is_empty()   ? long_wait
                                                  : short_wait;
        for (auto& [task, answer] : scheduler.pool_.wait_for_answers(timeout)) finish(0, task, std::move(answer));
        scheduler.rank_statistics_[0].restarts = scheduler.pool_.restarts();
      } else if (!message && is_ahead && has_assignments()) {
        std::this_thread::sleep_for(poll_interval);
      }
    }
    if (interrupted) throw interrupted_in(scheduler.stage_);
  }

  /// Assigns several tasks to each other rank that has none, then single tasks to the workers of this rank.
  void assign_tasks() {
    for (std::size_t rank = assignments.size() - 1; rank > 0; --rank) {
      if (!assignments[rank].empty() || queue.is_empty()) continue;
      assignments[rank] = next_assignment();
      if (assignments[rank].empty()) continue;
      std::vector<std::string> packed;
      for (const std::size_t number : assignments[rank]) packed.push_back(pack(unanswered.at(number).task));
      runtime::Bytes message;
      runtime::append_value(message, Command::Work);
      runtime::append_texts(message, scheduler.pending_updates(static_cast<int>(rank)));
      runtime::append_texts(message, packed);
      scheduler.communicator_.send(static_cast<int>(rank), work_tag, message);
    }
    while (!queue.is_empty() && scheduler.pool_.has_idle(queue.queued_items())) {
      const auto number = next_task();
      if (!number) break;
      scheduler.pool_.update_rules(scheduler.pending_updates(0));
      scheduler.pool_.start(*number, unanswered.at(*number).task);
    }
  }

  /// Takes the next task off the queue and returns its number.
  std::optional<std::size_t> next_task() {
    std::optional<QueuedTask> task = queue.pop();
    if (!task) return std::nullopt;
    unanswered.emplace(next_number, std::move(*task));
    return next_number++;
  }

  /// Takes tasks off the queue: at least one per worker, and few enough that all ranks finish at about the same time.
  Assignment next_assignment() {
    const auto workers = static_cast<double>(scheduler.pool_.size());
    const double share = queue.remaining_cost() / (4.0 * static_cast<double>(assignments.size()));
    const auto is_below = [](const Assignment& assigned, double limit) {
      return static_cast<double>(assigned.size()) < limit;
    };
    Assignment assigned;
    for (double cost = 0;
         is_below(assigned, max_tasks_per_worker * workers) && (is_below(assigned, workers) || cost < share);) {
      const auto number = next_task();
      if (!number) break;
      assigned.push_back(*number);
      cost += unanswered.at(*number).task.estimated_cost;
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
    for (auto left = runtime::take_value<std::uint64_t>(rest); left > 0; --left)
      finish(message.from, assigned.at(position++), unpack_answer(runtime::take_text(rest)));
  }

  void finish(int rank, std::size_t number, Answer answer) {
    scheduler.count_answer(rank, answer);
    on_answer(unanswered.extract(number).mapped(), std::move(answer));
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
  TaskQueue& queue;
  OnAnswer on_answer;
  std::unordered_map<std::size_t, QueuedTask> unanswered;  // by number
  std::size_t next_number = 0;
  std::vector<Assignment> assignments;  // by rank; empty for the first rank, whose workers get single tasks
  bool interrupted = false, interrupt_sent = false;
};

/// Items that are answered together: from the journal or the cache, the others by tasks.
class TaskScheduler::Batch {
 public:
  using Text = std::function<std::string(std::size_t item)>;
  using Take = std::function<void(std::size_t item, ItemAnswer answer)>;

  Batch(TaskScheduler& scheduler, std::vector<TaskQueue::Item> items, Text text, Take take)
      : scheduler_(scheduler),
        items_(std::move(items)),
        initial_(items_.size()),
        text_(std::move(text)),
        take_(std::move(take)),
        queue_(items_, scheduler.pool_.size() * static_cast<std::size_t>(scheduler.communicator_.size()),
               [this](std::size_t item) { return look_up(item); }) {
    if (items_.size() >= min_items_for_progress)
      progress_.emplace(scheduler.progress_, scheduler.stage_ + ", " + task_name(items_[0].kind), items_.size());
  }

  /// Adds an item in place of one that was answered.
  void add(const TaskQueue::Item& item) {
    items_.push_back(item);
    queue_.add(item);
    ++replaced_;
  }

  void answer() {
    runtime::throw_if_interrupted(scheduler_.stage_);
    const auto on_answer = [this](const QueuedTask& task, Answer given) { finish(task, std::move(given)); };
    Dispatcher(scheduler_, queue_, on_answer).run();
    if (scheduled_ > 0) log();
    if (scheduler_.cache_ != nullptr) scheduler_.cache_->sync();
    if (scheduler_.journal_ != nullptr) scheduler_.journal_->sync();
  }

 private:
  /// Makes an item. Returns its text for a worker, unless it has an answer already.
  std::optional<std::string> look_up(std::size_t item) {
    const TaskKind kind = items_[item].kind;
    std::string text = text_(item), key;
    if (scheduler_.journal_ != nullptr) {
      key = scheduler_.journal_key(kind, text);
      const auto found = scheduler_.journaled_.find(key);
      if (found != scheduler_.journaled_.end()) return take_known(item, scheduler_.journal_->read(found->second));
    }
    if (scheduler_.cache_ != nullptr && is_cached(kind)) {
      if (auto known = scheduler_.cache_->find(kind, text)) return take_known(item, std::move(*known));
      text = scheduler_.cache_->item_to_schedule(kind, text);
    }
    if (scheduler_.journal_ != nullptr) journal_keys_.emplace(item, std::move(key));
    if (++scheduled_ == 1) first_kind_ = kind;
    return text;
  }

  std::nullopt_t take_known(std::size_t item, std::string text) {
    take_(item, {std::move(text), {}});
    count(1);
    return std::nullopt;
  }

  void finish(const QueuedTask& task, Answer answer) {
    statistics_ += answer.statistics;
    double& longest = longest_seconds_.at(task.items.front() < initial_ ? 0 : 1);
    longest = std::max(longest, answer.statistics.longest_seconds);
    for (std::size_t i = 0; i < task.items.size(); ++i) {
      const auto key = journal_keys_.extract(task.items[i]);
      // A failure may be due to a time or memory limit: it is not kept.
      if (answer.failure.empty()) {
        std::string& text = answer.items.at(i);
        if (scheduler_.cache_ != nullptr && is_cached(task.task.kind))
          scheduler_.cache_->add(task.task.kind, task.task.items[i], text);
        if (scheduler_.journal_ != nullptr) scheduler_.journal_->append(key.mapped(), text);
        take_(task.items[i], {std::move(text), {}});
      } else {
        take_(task.items[i], {{}, answer.failure});
      }
    }
    if (scheduler_.journal_ != nullptr) scheduler_.journal_->flush();
    count(task.items.size());
  }

  void count(std::size_t answered) {
    answered_ += answered;
    if (progress_) progress_->set(answered_ - replaced_);
  }

  /// The longest item and the longest one that took an item's place count: they may be one after the other.
  void log() const {
    runtime::log_event("tasks", {{"stage", scheduler_.stage_},
                                 {"what", task_name(first_kind_)},
                                 {"items", scheduled_},
                                 {"seconds", watch_.seconds()},
                                 {"own_seconds", runtime::processor_seconds() - processor_seconds_},
                                 {"work_seconds", statistics_.processor_seconds},
                                 {"longest_seconds", longest_seconds_[0] + longest_seconds_[1]}});
  }

  TaskScheduler& scheduler_;
  std::vector<TaskQueue::Item> items_;
  std::size_t initial_;
  Text text_;
  Take take_;
  TaskQueue queue_;
  std::size_t answered_ = 0, replaced_ = 0;  // items
  std::optional<runtime::Progress> progress_;
  std::unordered_map<std::size_t, std::string> journal_keys_;  // of items that were scheduled
  std::size_t scheduled_ = 0;
  TaskKind first_kind_ = TaskKind::Derive;  // of them
  TaskStatistics statistics_;
  std::array<double, 2> longest_seconds_{};  // of the initial items, and of those in their place
  const runtime::Stopwatch watch_;
  const double processor_seconds_ = runtime::processor_seconds();  // at the beginning
};

void TaskScheduler::answer_each(const Items& items) {
  std::string failure;  // thrown when no task is under way
  const auto take = [&](std::size_t item, ItemAnswer answer) {
    if (answer.failure.empty())
      items.take(item, std::move(answer.text));
    else if (items.failed)
      items.take(item, items.failed(answer.failure));
    else
      failure = answer.failure;
  };
  Batch(*this, std::vector<TaskQueue::Item>(items.count, {items.kind, 1}), items.text, take).answer();
  if (!failure.empty()) throw runtime::Error("worker process", failure);
}

std::vector<TaskScheduler::ItemAnswer> TaskScheduler::answer_items(const std::vector<WorkItem>& items) {
  std::vector<ItemAnswer> answers(items.size());
  answer_chains(items, [&](std::size_t item, ItemAnswer answer) {
    answers[item] = std::move(answer);
    return std::nullopt;
  });
  return answers;
}

void TaskScheduler::answer_chains(std::vector<WorkItem> items, const Next& next) {
  std::vector<TaskQueue::Item> queued;
  for (const WorkItem& item : items) queued.push_back({item.kind, item.estimated_cost});
  std::vector<std::size_t> first(items.size());  // of the item's chain
  std::iota(first.begin(), first.end(), 0);
  std::optional<Batch> batch;
  const auto take = [&](std::size_t item, ItemAnswer answer) {
    std::optional<WorkItem> follower = next(first[item], std::move(answer));
    if (!follower) return;
    first.push_back(first[item]);
    items.push_back(std::move(*follower));
    batch->add({items.back().kind, items.back().estimated_cost});
  };
  batch.emplace(
      *this, std::move(queued), [&](std::size_t item) { return items[item].text; }, take);
  batch->answer();
}

std::vector<std::string> TaskScheduler::answer_items(TaskKind kind, const std::vector<std::string>& items,
                                                     const Failed& failed) {
  std::vector<std::string> answers(items.size());
  answer_each({kind, items.size(), [&](std::size_t item) { return items[item]; },
               [&](std::size_t item, std::string answer) { answers[item] = std::move(answer); }, failed});
  return answers;
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
