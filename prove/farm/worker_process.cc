#include "prove/farm/worker_process.h"

#include <unistd.h>

#include <new>

#include "runtime/byte_lists.h"
#include "runtime/error.h"
#include "runtime/json_report.h"

namespace rulemill::prove {

using runtime::Bytes;
using runtime::ByteView;
using runtime::Json;

namespace {

static_assert(std::is_trivially_copyable_v<WorkerOptions>);  // parent and helper are one binary
constexpr std::chrono::seconds start_patience{60};
constexpr int out_of_memory = 77;  // exit code of a helper that met its limit

/// The first frame: options, definitions, and what they must be.
Bytes introduction(const WorkerProcessOptions& options, const algebra::Library& library) {
  Bytes frame;
  runtime::append_value(frame, options.worker);
  const std::string rest = Json{{"definitions", options.definitions.string()}, {"digest", library.digest()}}.dump();
  const ByteView text = runtime::bytes_of(rest);
  frame.insert(frame.end(), text.begin(), text.end());
  return frame;
}

std::string in_words(const std::string& reason) {
  if (reason.starts_with("time limit")) return reason;
  if (reason == "exit code " + std::to_string(out_of_memory)) return "memory limit";
  return "its process ended: " + reason;
}

}  // namespace

std::unique_ptr<runtime::Subprocess> IdleHelpers::take() {
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
  if (options_.idle && process_ && process_->alive() && !busy()) options_.idle->put(std::move(process_));
}

void WorkerProcess::change(const std::vector<std::string>& changes) {
  changes_.insert(changes_.end(), changes.begin(), changes.end());
}

void WorkerProcess::start(const Task& task) {
  RM_CHECK(!busy(), "a helper does one task at a time");
  task_ = task;
  second_try_ = false;
  if (!local_) return begin();
  for (; told_ < changes_.size(); ++told_) local_->change(changes_[told_]);
  answer_ = local_->answer(task);
}

void WorkerProcess::spawn() {
  told_ = 0;
  process_ = options_.idle ? options_.idle->take() : nullptr;
  anew_ = process_ != nullptr;
  if (anew_) return;
  process_ = std::make_unique<runtime::Subprocess>(options_.command, options_.memory_bytes);
  process_->send(introduction(options_, library_));
  const std::optional<Bytes> ready = process_->receive(start_patience);
  if (!ready) {
    throw runtime::Error("proof helper", "cannot start (" + in_words(process_->end_reason()) +
                                             "); expected it to load the definitions" +
                                             (options_.memory_bytes > 0 ? " within --proof-memory" : ""));
  }
  if (!ready->empty()) throw runtime::Error("proof helper", std::string(runtime::text_of(*ready)));
}

void WorkerProcess::begin() {
  if (!process_ || !process_->alive()) spawn();
  Bytes frame;
  runtime::append_value(frame, std::exchange(anew_, false));
  runtime::append_texts(frame, std::span(changes_).subspan(told_));
  runtime::append_text(frame, pack(*task_));
  // A fresh helper has all rules to read.
  const auto catching_up = std::chrono::milliseconds(10) * (changes_.size() - told_);
  limit_ = catching_up + options_.patience * task_->items.size();
  looked_ = std::chrono::steady_clock::now();
  deadline_ = looked_ + limit_;
  had_at_begin_ = had_at_look_ = process_->processor_seconds();
  told_ = changes_.size();
  process_->send(frame);
}

std::optional<Answer> WorkerProcess::finish(std::chrono::microseconds wait) {
  RM_CHECK(busy(), "there is a task to finish");
  if (local_) {
    task_.reset();
    return std::exchange(answer_, std::nullopt);
  }
  const auto left = deadline_ - std::chrono::steady_clock::now();
  const bool ready = process_->ready(
      std::min(wait, std::chrono::duration_cast<std::chrono::microseconds>(std::max(left, left.zero()))));
  if (!ready && !is_over()) return std::nullopt;
  if (!ready) process_->kill("time limit of " + std::to_string(limit_.count()) + " ms");
  const std::optional<Bytes> frame = process_->receive(start_patience);
  if (!frame) return after_end();
  task_.reset();
  return unpack_answer(runtime::text_of(*frame));
}

/// Whether the helper has had the task's time of a processor, or none of one since the last look: it hangs. On a
/// machine that others use, too, the clock alone would end proofs that have hardly begun.
bool WorkerProcess::is_over() {
  const auto now = std::chrono::steady_clock::now();
  if (now < deadline_) return false;
  using Seconds = std::chrono::duration<double>;
  constexpr double moves = 0.01;  // of the time since the last look
  const double had = process_->processor_seconds();
  const double left = Seconds(limit_).count() - (had - had_at_begin_);
  if (left <= 0 || had - had_at_look_ < moves * Seconds(now - looked_).count()) return true;
  looked_ = now;
  had_at_look_ = had;
  deadline_ = now + std::chrono::ceil<std::chrono::milliseconds>(Seconds(left));
  return false;
}

void WorkerProcess::abandon() {
  if (process_) process_->kill("told to stop");
  task_.reset();
  answer_.reset();
}

std::optional<Answer> WorkerProcess::after_end() {
  ++restarts_;
  if (!second_try_) {
    second_try_ = true;
    begin();
    return std::nullopt;
  }
  task_.reset();
  return Answer{{}, {}, in_words(process_->end_reason()) + ", twice"};
}

void serve_tasks() {
  std::optional<algebra::Library> library;
  std::optional<Worker> worker;
  WorkerOptions options;
  runtime::serve_frames([&](ByteView frame) -> Bytes {
    try {
      if (!worker) {
        RM_CHECK(frame.size() > sizeof options, "a helper's first frame has its options");
        std::memcpy(&options, frame.data(), sizeof options);
        const Json rest = Json::parse(runtime::text_of(frame.subspan(sizeof options)));
        const auto folder = rest.at("definitions").get<std::string>();
        library.emplace(algebra::Library::load(folder));
        if (library->digest() != rest.at("digest").get<std::string>()) {
          throw runtime::InputError(folder, "the definitions have changed since this run began");
        }
        worker.emplace(*library, options);
        return {};
      }
      if (runtime::take_value<bool>(frame)) worker.emplace(*library, options);
      for (const std::string& change : runtime::take_texts(frame)) worker->change(change);
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

}  // namespace rulemill::prove
