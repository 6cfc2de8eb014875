#include "prove/farm/crew.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include "runtime/error.h"
#include "runtime/interrupt.h"

namespace rulemill::prove {

using runtime::Json;

namespace {

constexpr int work_tag = 21, answer_tag = 22;
constexpr std::chrono::microseconds nap{100};  // between two looks for messages
constexpr std::chrono::microseconds no_wait{0}, long_wait{1'000'000};
constexpr std::size_t largest_chunk = 8;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

runtime::Interrupted stopped() { return {"prove", "stopped; run the same command again to continue"}; }

/// Waits without keeping a core busy, as MPI's own waiting would: the helper needs it.
runtime::Communicator::Message next_message(const runtime::Communicator& communicator, int tag) {
  for (;;) {
    if (auto message = communicator.poll(runtime::Communicator::any_rank, tag)) return std::move(*message);
    std::this_thread::sleep_for(nap);
  }
}

}  // namespace

Crew::Crew(const runtime::Communicator& communicator, algebra::Library& library, const WorkerProcessOptions& options)
    : communicator_(communicator),
      helper_(library, options),
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
  changes_.insert(changes_.end(), changes.begin(), changes.end());
}

void Crew::credit(int rank, const Answer& answer) {
  RankFigures& figures = figures_[static_cast<std::size_t>(rank)];
  ++figures.tasks;
  figures.items += answer.items.size();
  figures.effort += answer.effort;
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
  bool interrupted = false;

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
    interrupted |= runtime::interrupted();
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
  if (interrupted) throw stopped();
  return answers;
}

std::vector<std::string> Crew::run_each(TaskKind kind, const std::vector<std::string>& items, std::size_t block,
                                        const std::function<std::string(const std::string&)>& failed) {
  std::vector<Task> tasks;
  for (std::size_t begin = 0; begin < items.size(); begin += block) {
    const std::size_t end = std::min(items.size(), begin + block);
    tasks.push_back(
        {kind,
         {items.begin() + static_cast<std::ptrdiff_t>(begin), items.begin() + static_cast<std::ptrdiff_t>(end)},
         1});
  }
  const std::vector<Answer> answers = run(tasks);
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

/// A worker's side: a chunk at a time. It sends only what it is asked for, so that no two ranks wait to send to each
/// other.
void Crew::serve() {
  for (;;) {
    const runtime::Communicator::Message message = next_message(communicator_, work_tag);
    const Json json = Json::parse(runtime::text_of(message.bytes));
    if (json.contains("end")) {
      if (json.at("end").get<bool>()) throw stopped();
      return;
    }
    helper_.change(json.at("changes").get<std::vector<std::string>>());
    Json answers = Json::array();
    for (const Json& text : json.at("tasks")) {
      if (runtime::interrupted()) break;
      helper_.start(task_from_text(text.get<std::string>()));
      std::optional<Answer> answer;
      while (!answer) answer = helper_.finish(long_wait);
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
