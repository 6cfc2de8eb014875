#include "prove/distributed/worker_process.h"

#include <unistd.h>

#include <algorithm>
#include <new>

#include "runtime/text/byte_lists.h"
#include "runtime/text/error.h"
#include "runtime/text/json.h"

namespace rulemill::prove {

using runtime::Bytes;
using runtime::ByteView;
using runtime::Json;

namespace {

static_assert(std::is_trivially_copyable_v<WorkerOptions>);  // both processes run the same binary
constexpr std::chrono::seconds start_timeout{60};
constexpr int max_starts = 3;
constexpr int out_of_memory = 77;  // exit code at the memory limit

/// Returns the first frame: the options, and the definitions' folder and digest.
Bytes first_frame(const WorkerProcessOptions& options, const algebra::Library& library) {
  Bytes frame;
  runtime::append_value(frame, options.worker);
  const std::string rest =
      runtime::to_text({{"definitions", options.definitions.string()}, {"digest", library.digest()}});
  const ByteView text = runtime::bytes_of(rest);
  frame.insert(frame.end(), text.begin(), text.end());
  return frame;
}

std::string failure_text(const std::string& end_reason) {
  if (end_reason.starts_with("time limit")) return end_reason;
  if (end_reason == "exit code " + std::to_string(out_of_memory)) return "memory limit";
  return "its process ended: " + end_reason;
}

}  // namespace

std::unique_ptr<runtime::Subprocess> IdleWorkers::take() {
  if (processes_.empty()) return nullptr;
  std::unique_ptr<runtime::Subprocess> process = std::move(processes_.back());
  processes_.pop_back();
  return process;
}

WorkerProcess::WorkerProcess(algebra::Library& library, const WorkerProcessOptions& options)
    : library_(library), options_(options) {
  if (options_.command.empty()) local_.emplace(library, options_.worker);
}

WorkerProcess::~WorkerProcess() {
  if (options_.idle_workers && process_ && process_->is_alive() && !is_busy())
    options_.idle_workers->put(std::move(process_));
}

void WorkerProcess::update_rules(const std::vector<std::string>& updates) {
  updates_.insert(updates_.end(), updates.begin(), updates.end());
}

void WorkerProcess::start(const Task& task) {
  RM_CHECK(!is_busy(), "a worker process runs one task at a time");
  task_ = task;
  is_second_try_ = false;
  if (!local_) return begin();
  for (; updates_sent_ < updates_.size(); ++updates_sent_) local_->update_rules(updates_[updates_sent_]);
  answer_ = local_->answer(task);
}

std::optional<Bytes> WorkerProcess::start_process() {
  process_ = std::make_unique<runtime::Subprocess>(options_.command, options_.memory_bytes);
  process_->send(first_frame(options_, library_));
  return process_->receive(start_timeout);
}

void WorkerProcess::spawn() {
  updates_sent_ = 0;
  process_ = options_.idle_workers ? options_.idle_workers->take() : nullptr;
  must_reset_ = process_ != nullptr;
  if (must_reset_) return;
  std::optional<Bytes> ready = start_process();
  // A process that is killed while it starts is replaced, as one that is killed later.
  for (int starts = 1; !ready && starts < max_starts && process_->end_reason().starts_with("signal"); ++starts) {
    ++restarts_;
    ready = start_process();
  }
  if (!ready) {
    throw runtime::Error("worker process", "cannot start (" + failure_text(process_->end_reason()) +
                                               "); expected it to load the definitions" +
                                               (options_.memory_bytes > 0 ? " within --proof-memory" : ""));
  }
  if (!ready->empty()) throw runtime::Error("worker process", std::string(runtime::text_of(*ready)));
}

void WorkerProcess::begin() {
  if (!process_ || !process_->is_alive()) spawn();
  Bytes frame;
  runtime::append_value(frame, std::exchange(must_reset_, false));
  runtime::append_texts(frame, std::span(updates_).subspan(updates_sent_));
  runtime::append_text(frame, pack(*task_));
  // A new process must first read all rules.
  const auto update_time = std::chrono::milliseconds(10) * (updates_.size() - updates_sent_);
  limit_ = update_time + options_.timeout * task_->items.size();
  last_check_ = std::chrono::steady_clock::now();
  deadline_ = last_check_ + limit_;
  processor_seconds_at_begin_ = processor_seconds_at_check_ = process_->processor_seconds();
  updates_sent_ = updates_.size();
  process_->send(frame);
}

std::optional<Answer> WorkerProcess::wait_for_answer(std::chrono::microseconds timeout) {
  RM_CHECK(is_busy(), "a task was started");
  if (local_) {
    task_.reset();
    return std::exchange(answer_, std::nullopt);
  }
  const auto left = deadline_ - std::chrono::steady_clock::now();
  const bool ready = process_->is_ready(
      std::min(timeout, std::chrono::duration_cast<std::chrono::microseconds>(std::max(left, left.zero()))));
  if (!ready && !is_out_of_time()) return std::nullopt;
  if (!ready) process_->kill("time limit of " + std::to_string(limit_.count()) + " ms");
  const std::optional<Bytes> frame = process_->receive(start_timeout);
  if (!frame) return retry_or_fail();
  task_.reset();
  return unpack_answer(runtime::text_of(*frame));
}

/// Returns whether the process has used the task's processor time, or hangs: it used almost no processor time since the
/// last check. On a shared machine, a wall-clock limit would end proofs that have hardly started.
bool WorkerProcess::is_out_of_time() {
  const auto now = std::chrono::steady_clock::now();
  if (now < deadline_) return false;
  using Seconds = std::chrono::duration<double>;
  constexpr double min_progress = 0.01;  // processor time per wall-clock time
  const double used = process_->processor_seconds();
  const double left = Seconds(limit_).count() - (used - processor_seconds_at_begin_);
  const double elapsed = Seconds(now - last_check_).count();
  if (left <= 0 || used - processor_seconds_at_check_ < min_progress * elapsed) return true;
  last_check_ = now;
  processor_seconds_at_check_ = used;
  deadline_ = now + std::chrono::ceil<std::chrono::milliseconds>(Seconds(left));
  return false;
}

void WorkerProcess::abandon() {
  if (process_) process_->kill("interrupted");
  task_.reset();
  answer_.reset();
}

std::optional<Answer> WorkerProcess::retry_or_fail() {
  ++restarts_;
  if (!is_second_try_) {
    is_second_try_ = true;
    begin();
    return std::nullopt;
  }
  task_.reset();
  return Answer{{}, {}, failure_text(process_->end_reason()) + ", twice"};
}

void serve_tasks() {
  std::optional<algebra::Library> library;
  std::optional<Worker> worker;
  WorkerOptions options;
  runtime::serve_frames([&](ByteView frame) -> Bytes {
    try {
      if (!worker) {
        RM_CHECK(frame.size() > sizeof options, "the first frame has the options");
        std::memcpy(&options, frame.data(), sizeof options);
        const Json rest = runtime::parse_json(runtime::text_of(frame.subspan(sizeof options)));
        const auto folder = rest.at("definitions").get<std::string>();
        library.emplace(algebra::Library::load(folder));
        if (library->digest() != rest.at("digest").get<std::string>()) {
          throw runtime::InputError(folder, "the definitions have changed since this run began");
        }
        worker.emplace(*library, options);
        return {};
      }
      if (runtime::take_value<bool>(frame)) worker.emplace(*library, options);
      for (const std::string& update : runtime::take_texts(frame)) worker->update_rules(update);
      const std::string answer = pack(worker->answer(unpack_task(runtime::take_text(frame))));
      return runtime::copy_bytes(runtime::bytes_of(answer));
    } catch (const std::bad_alloc&) {
      ::_exit(out_of_memory);
    } catch (const runtime::Interrupted& interrupted) {
      ::_exit(interrupted.exit_code());
    } catch (const runtime::Error& error) {
      if (!worker) return runtime::copy_bytes(runtime::bytes_of(error.what()));
      return runtime::copy_bytes(runtime::bytes_of(pack(Answer{{}, {}, error.what()})));
    }
  });
}

namespace {

constexpr std::chrono::microseconds poll_once{0};
constexpr double start_seconds = 0.03;
constexpr std::size_t many_items = 32;

}  // namespace

WorkerPool::WorkerPool(algebra::Library& library, const WorkerProcessOptions& options) {
  const unsigned count = options.command.empty() ? 1 : std::max(1U, options.workers);
  for (unsigned i = 0; i < count; ++i) workers_.push_back(std::make_unique<Slot>(library, options));
}

void WorkerPool::update_rules(const std::vector<std::string>& updates) {
  for (const auto& slot : workers_) slot->process.update_rules(updates);
}

bool WorkerPool::has_idle(std::size_t queued_items) const {
  bool any_busy = false, any_not_started = false;
  for (const auto& slot : workers_) {
    const bool busy = slot->process.is_busy();
    if (!busy && slot->process.process() != nullptr) return true;
    (busy ? any_busy : any_not_started) = true;
  }
  if (!any_busy || !any_not_started) return any_not_started;
  return queued_items >= many_items || busy_watch_.seconds() >= start_seconds;
}

bool WorkerPool::is_busy() const {
  return std::ranges::any_of(workers_, [](const auto& slot) { return slot->process.is_busy(); });
}

void WorkerPool::start(std::size_t number, const Task& task) {
  if (!is_busy()) busy_watch_ = runtime::Stopwatch();
  const auto is_idle = [](const auto& slot) { return !slot->process.is_busy(); };
  auto idle = std::ranges::find_if(
      workers_, [&](const auto& slot) { return is_idle(slot) && slot->process.process() != nullptr; });
  if (idle == workers_.end()) idle = std::ranges::find_if(workers_, is_idle);
  RM_CHECK(idle != workers_.end(), "a worker is idle");
  (*idle)->task = number;
  (*idle)->process.start(task);
}

std::vector<WorkerPool::FinishedTask> WorkerPool::poll(std::chrono::microseconds timeout) {
  std::vector<FinishedTask> finished;
  for (const auto& slot : workers_) {
    if (!slot->process.is_busy()) continue;
    if (auto answer = slot->process.wait_for_answer(timeout)) finished.push_back({slot->task, std::move(*answer)});
  }
  return finished;
}

std::vector<WorkerPool::FinishedTask> WorkerPool::wait_for_answers(std::chrono::microseconds timeout) {
  const auto busy_workers = std::ranges::count_if(workers_, [](const auto& slot) { return slot->process.is_busy(); });
  if (busy_workers == 1) return poll(timeout);
  std::vector<FinishedTask> finished = poll(poll_once);
  if (!finished.empty() || busy_workers == 0 || timeout == poll_once) return finished;
  std::vector<const runtime::Subprocess*> processes;
  for (const auto& slot : workers_) {
    if (slot->process.is_busy()) processes.push_back(slot->process.process());
  }
  runtime::Subprocess::wait_for_any(processes, timeout);
  return poll(poll_once);
}

void WorkerPool::abandon() {
  for (const auto& slot : workers_) {
    if (slot->process.is_busy()) slot->process.abandon();
  }
}

std::uint64_t WorkerPool::restarts() const {
  std::uint64_t total = 0;
  for (const auto& slot : workers_) total += slot->process.restarts();
  return total;
}

}  // namespace rulemill::prove
