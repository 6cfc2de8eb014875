#include "prove/farm/crew.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include "runtime/error.h"
#include "runtime/interrupt.h"

namespace rulemill::prove {

using runtime::Json;

namespace {

constexpr int work_tag = 21, answer_tag = 22, stop_tag = 23;
constexpr std::chrono::microseconds nap{100};                        // between two looks for messages
constexpr std::chrono::microseconds no_wait{0}, long_wait{100'000};  // between two looks for signals
constexpr std::size_t largest_chunk = 8;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

runtime::Interrupted stopped(const std::string& stage) {
  return {stage, "stopped; run the same command again to continue"};
}

/// Waits without keeping a core busy, as MPI's own waiting would: the helper needs it.
runtime::Communicator::Message next_message(const runtime::Communicator& communicator, int tag) {
  for (;;) {
    if (auto message = communicator.poll(runtime::Communicator::any_rank, tag)) return std::move(*message);
    std::this_thread::sleep_for(nap);
  }
}

}  // namespace

Crew::Crew(const runtime::Communicator& communicator, algebra::Library& library, const WorkerProcessOptions& options,
           std::string stage)
    : communicator_(communicator),
      helper_(library, options),
      stage_(std::move(stage)),
      told_(static_cast<std::size_t>(communicator.size()), 0),
      figures_(static_cast<std::size_t>(communicator.size())) {}

void Crew::work(const std::function<void()>& manage) {
  const auto begin = std::chrono::steady_clock::now();
  if (!communicator_.is_root()) return serve();
  try {
    manage();
  } catch (const runtime::Interrupted&) {
    end_service(true);
    throw;
  }
  end_service(false);
  seconds_ += seconds_since(begin);
  for (RankFigures& rank : figures_) rank.idle = seconds_ - rank.effort.seconds;
}

void Crew::change(const std::vector<std::string>& changes) {
  for (const std::string& change : changes) changes_hash_.add_text(change);
  changes_.insert(changes_.end(), changes.begin(), changes.end());
}

void Crew::remember(runtime::Journal& journal) {
  journal_ = &journal;
  for (const runtime::Journal::Record& record : journal.records()) {
    remembered_[record.key] = std::string(runtime::text_of(record.payload));
  }
}

std::string Crew::journal_key(const Task& task) const {
  return runtime::to_hex(changes_hash_.digest128()) +
         runtime::to_hex(runtime::hash128(runtime::bytes_of(to_text(task))));
}

void Crew::credit(int rank, const Answer& answer) {
  RankFigures& figures = figures_[static_cast<std::size_t>(rank)];
  ++figures.tasks;
  figures.items += answer.items.size();
  figures.effort += answer.effort;
  if (!answer.failure.empty()) ++failures_;
}

/// The next tasks of the queue, hardest first: few enough that the ranks end together.
std::vector<std::size_t> Crew::deal(std::vector<std::size_t>& queue, double& left) const {
  const double share = left / (4.0 * communicator_.size());
  std::vector<std::size_t> hand;
  for (double hardness = 0; !queue.empty() && hand.size() < largest_chunk && (hand.empty() || hardness < share);) {
    hand.push_back(queue.back());
    queue.pop_back();
    hardness += (*tasks_)[hand.back()].hardness;
    left -= (*tasks_)[hand.back()].hardness;
  }
  return hand;
}

/// One rank's tasks: which, and the next one to do or be answered.
struct Crew::Hand {
  std::vector<std::size_t> tasks;
  std::size_t next = 0;
  bool empty() const { return next == tasks.size(); }
};

std::vector<Answer> Crew::run(const std::vector<Task>& tasks,
                              const std::function<void(std::size_t, const Answer&)>& done) {
  tasks_ = &tasks;
  std::vector<std::size_t> queue(tasks.size());
  std::iota(queue.begin(), queue.end(), 0);
  std::ranges::stable_sort(queue, [&](std::size_t a, std::size_t b) { return tasks[a].hardness < tasks[b].hardness; });
  double left = 0;
  for (const Task& task : tasks) left += task.hardness;
  std::vector<Answer> answers(tasks.size());
  std::vector<Hand> hands(figures_.size());
  std::size_t open = tasks.size();
  bool interrupted = false, told_to_stop = false;

  const auto settle = [&](int rank, std::size_t task, Answer answer) {
    credit(rank, answer);
    answers[task] = std::move(answer);
    --open;
    if (done) done(task, answers[task]);
  };
  const auto news_for = [&](std::size_t rank) {
    std::vector<std::string> news(changes_.begin() + static_cast<std::ptrdiff_t>(told_[rank]), changes_.end());
    told_[rank] = changes_.size();
    return news;
  };
  const auto send_hand = [&](std::size_t rank) {
    Json list = Json::array();
    for (const std::size_t task : hands[rank].tasks) list.push_back(to_text(tasks[task]));
    const std::string message = Json{{"changes", news_for(rank)}, {"tasks", list}}.dump();
    communicator_.send(static_cast<int>(rank), work_tag, runtime::bytes_of(message));
  };
  const auto take_answers = [&](const runtime::Communicator::Message& message) {
    const Json json = Json::parse(runtime::text_of(message.bytes));
    Hand& hand = hands[static_cast<std::size_t>(message.from)];
    figures_[static_cast<std::size_t>(message.from)].restarts = json.at("restarts").get<std::uint64_t>();
    interrupted |= json.at("interrupted").get<bool>();
    for (const Json& text : json.at("answers")) {
      settle(message.from, hand.tasks.at(hand.next++), answer_from_text(text.get<std::string>()));
    }
    hand.next = hand.tasks.size();  // a worker that is told to stop leaves the rest
  };

  const auto any_out = [&] { return std::ranges::any_of(hands, [](const Hand& hand) { return !hand.empty(); }); };
  for (;;) {
    if (!interrupted && runtime::interrupted()) interrupted = true;
    if (interrupted && !told_to_stop) {
      told_to_stop = true;
      for (std::size_t rank = 1; rank < hands.size(); ++rank) {
        if (!hands[rank].empty()) communicator_.send(static_cast<int>(rank), stop_tag, {});
      }
      if (helper_.busy()) helper_.abandon();
      hands[0] = {};
    }
    for (std::size_t rank = hands.size(); rank-- > 0 && !interrupted;) {  // itself last
      if (!hands[rank].empty() || queue.empty()) continue;
      hands[rank] = {deal(queue, left), 0};
      if (rank > 0)
        send_hand(rank);
      else
        helper_.change(news_for(0));
    }
    Hand& own = hands[0];
    if (!own.empty() && !helper_.busy()) helper_.start(tasks[own.tasks[own.next]]);
    const auto message = communicator_.poll(runtime::Communicator::any_rank, answer_tag);
    if (message) take_answers(*message);
    if (helper_.busy()) {
      const bool alone = std::all_of(hands.begin() + 1, hands.end(), [](const Hand& hand) { return hand.empty(); });
      if (auto answer = helper_.finish(message ? no_wait : alone ? long_wait : nap)) {
        settle(0, own.tasks[own.next++], std::move(*answer));
        figures_[0].restarts = helper_.restarts();
      }
    } else if (!message && any_out()) {
      std::this_thread::sleep_for(nap);
    }
    if (open == 0 || (interrupted && !any_out())) break;
  }
  if (interrupted) throw stopped(stage_);
  return answers;
}

std::vector<std::string> Crew::run_each(TaskKind kind, const std::vector<std::string>& items, std::size_t block,
                                        const std::function<std::string(const std::string&)>& failed) {
  runtime::throw_if_interrupted(stage_);
  std::vector<Task> tasks, open;
  std::vector<std::size_t> positions;  // of the open ones
  std::vector<Answer> answers;
  for (std::size_t begin = 0; begin < items.size(); begin += block) {
    const std::size_t end = std::min(items.size(), begin + block);
    tasks.push_back(
        {kind,
         {items.begin() + static_cast<std::ptrdiff_t>(begin), items.begin() + static_cast<std::ptrdiff_t>(end)},
         1});
    const auto known = journal_ == nullptr ? remembered_.end() : remembered_.find(journal_key(tasks.back()));
    answers.push_back(known == remembered_.end() ? Answer{} : answer_from_text(known->second));
    if (known != remembered_.end()) continue;
    positions.push_back(tasks.size() - 1);
    open.push_back(tasks.back());
  }
  std::vector<Answer> fresh = run(open, [&](std::size_t task, const Answer& answer) {
    if (journal_ != nullptr && answer.failure.empty()) journal_->append(journal_key(open[task]), to_text(answer));
  });
  if (journal_ != nullptr) journal_->sync();
  for (std::size_t t = 0; t < open.size(); ++t) answers[positions[t]] = std::move(fresh[t]);
  std::vector<std::string> result;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Answer& answer = answers[t];
    if (!answer.failure.empty() && !failed) throw runtime::Error("proof helper", answer.failure);
    for (std::size_t i = 0; i < tasks[t].items.size(); ++i) {
      result.push_back(answer.failure.empty() ? answer.items.at(i) : failed(answer.failure));
    }
  }
  return result;
}

/// Nothing if this rank or the first one is told to stop before the answer is there: the task is done again another
/// time.
std::optional<Answer> Crew::answer_unless_stopped(const Task& task) {
  helper_.start(task);
  for (;;) {
    if (runtime::interrupted() || communicator_.poll(0, stop_tag)) {
      helper_.abandon();
      return std::nullopt;
    }
    if (auto answer = helper_.finish(long_wait)) return answer;
  }
}

/// A worker's side: a chunk at a time. It sends only what it is asked for, so that no two ranks wait to send to each
/// other.
void Crew::serve() {
  for (;;) {
    const runtime::Communicator::Message message = next_message(communicator_, work_tag);
    const Json json = Json::parse(runtime::text_of(message.bytes));
    if (json.contains("end")) {
      while (communicator_.poll(0, stop_tag)) {
      }
      if (json.at("end").get<bool>()) throw stopped(stage_);
      return;
    }
    helper_.change(json.at("changes").get<std::vector<std::string>>());
    Json answers = Json::array();
    for (const Json& text : json.at("tasks")) {
      const std::optional<Answer> answer = answer_unless_stopped(task_from_text(text.get<std::string>()));
      if (!answer) break;
      answers.push_back(to_text(*answer));
    }
    const Json reply = {
        {"answers", answers}, {"restarts", helper_.restarts()}, {"interrupted", runtime::interrupted()}};
    communicator_.send(0, answer_tag, runtime::bytes_of(reply.dump()));
  }
}

void Crew::end_service(bool interrupted) {
  const std::string message = Json{{"end", interrupted}}.dump();
  for (int rank = 1; rank < communicator_.size(); ++rank)
    communicator_.send(rank, work_tag, runtime::bytes_of(message));
}

}  // namespace rulemill::prove
