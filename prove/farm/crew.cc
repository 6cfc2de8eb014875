#include "prove/farm/crew.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include "runtime/byte_lists.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"

namespace rulemill::prove {

namespace {

/// What a message to a worker begins with.
enum class Word : std::uint8_t { Work, End, Stop };

constexpr int work_tag = 21, answer_tag = 22, stop_tag = 23;
constexpr std::chrono::microseconds nap{100};                        // between two looks for messages
constexpr std::chrono::microseconds no_wait{0}, long_wait{100'000};  // between two looks for signals
constexpr std::chrono::microseconds short_wait{10'000};  // while a helper that is yet to be started may help
constexpr double largest_chunk = 8;                      // tasks for each helper of a rank
constexpr std::size_t worth_showing = 1000;              // items

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
      team_(library, options),
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
  for (RankFigures& rank : figures_) rank.idle = seconds_ * static_cast<double>(team_.size()) - rank.effort.seconds;
}

void Crew::change(const std::vector<std::string>& changes) {
  for (const std::string& change : changes) changes_hash_.add_text(change);
  if (store_ != nullptr) store_->change(changes);
  changes_.insert(changes_.end(), changes.begin(), changes.end());
}

void Crew::keep(AnswerStore& store) {
  store_ = &store;
  store.change(changes_);
}

void Crew::remember(runtime::Journal& journal) {
  journal_ = &journal;
  for (const runtime::Journal::Record& record : journal.records()) {
    remembered_[record.key] = std::string(runtime::text_of(record.payload));
  }
}

std::string Crew::journal_key(const Task& task) const {
  return runtime::to_hex(changes_hash_.digest128()) + runtime::to_hex(runtime::hash128(runtime::bytes_of(pack(task))));
}

void Crew::credit(int rank, const Answer& answer) {
  RankFigures& figures = figures_[static_cast<std::size_t>(rank)];
  ++figures.tasks;
  figures.items += answer.items.size();
  figures.effort += answer.effort;
  if (!answer.failure.empty()) ++failures_;
}

/// What a rank has not been told of yet.
std::vector<std::string> Crew::news_for(int rank) {
  std::size_t& told = told_[static_cast<std::size_t>(rank)];
  std::vector<std::string> news(changes_.begin() + static_cast<std::ptrdiff_t>(told), changes_.end());
  told = changes_.size();
  return news;
}

/// The manager's side of one call of run(): what is left to do, what every rank is at, and the answers.
struct Crew::Round {
  /// Tasks given to one other rank that are not answered yet.
  using Hand = std::vector<std::size_t>;

  Round(Crew& all, const std::vector<Task>& given, const std::function<void(std::size_t, const Answer&)>& told)
      : crew(all),
        tasks(given),
        done(told),
        queue(given.size()),
        hands(static_cast<std::size_t>(all.communicator_.size())),
        answers(given.size()),
        open(given.size()) {
    std::iota(queue.begin(), queue.end(), 0);
    std::ranges::stable_sort(queue, {}, [&](std::size_t task) { return tasks[task].hardness; });
    for (const Task& task : tasks) {
      left += task.hardness;
      waiting += task.items.size();
    }
  }

  std::vector<Answer> run() {
    while (open > 0) {
      if (!interrupted && runtime::interrupted()) interrupted = true;
      if (interrupted) tell_to_stop();
      if (interrupted && !any_out()) break;
      if (!interrupted) give_out();
      const auto message = crew.communicator_.poll(runtime::Communicator::any_rank, answer_tag);
      if (message) take_answers(*message);
      if (crew.team_.busy()) {
        for (auto& [task, answer] : crew.team_.finished(message ? no_wait : any_out() ? nap : patience()))
          settle(0, task, std::move(answer));
        crew.figures_[0].restarts = crew.team_.restarts();
      } else if (!message && any_out()) {
        std::this_thread::sleep_for(nap);
      }
    }
    if (interrupted) throw stopped(crew.stage_);
    return std::move(answers);
  }

  /// To the other ranks in chunks, then one by one to the helpers of this one.
  void give_out() {
    for (std::size_t rank = hands.size() - 1; rank > 0; --rank) {
      if (!hands[rank].empty() || queue.empty()) continue;
      hands[rank] = chunk();
      std::vector<std::string> packed;
      for (const std::size_t task : hands[rank]) packed.push_back(pack(tasks[task]));
      runtime::Bytes message;
      runtime::append_value(message, Word::Work);
      runtime::append_texts(message, crew.news_for(static_cast<int>(rank)));
      runtime::append_texts(message, packed);
      crew.communicator_.send(static_cast<int>(rank), work_tag, message);
    }
    while (!queue.empty() && crew.team_.has_idle(waiting)) {
      crew.team_.change(crew.news_for(0));
      const std::size_t task = next();
      crew.team_.start(task, tasks[task]);
    }
  }

  std::size_t next() {
    const std::size_t task = queue.back();
    queue.pop_back();
    left -= tasks[task].hardness;
    waiting -= tasks[task].items.size();
    return task;
  }

  /// The next tasks, hardest first: few enough that the ranks end together.
  Hand chunk() {
    const auto helpers = static_cast<double>(crew.team_.size());
    const double share = left / (4.0 * static_cast<double>(hands.size()));
    Hand hand;
    for (double hardness = 0; !queue.empty() && static_cast<double>(hand.size()) < largest_chunk * helpers &&
                              (static_cast<double>(hand.size()) < helpers || hardness < share);) {
      hand.push_back(next());
      hardness += tasks[hand.back()].hardness;
    }
    return hand;
  }

  void take_answers(const runtime::Communicator::Message& message) {
    runtime::ByteView rest = message.bytes;
    const Hand hand = std::exchange(hands[static_cast<std::size_t>(message.from)], {});
    crew.figures_[static_cast<std::size_t>(message.from)].restarts = runtime::take_value<std::uint64_t>(rest);
    interrupted |= runtime::take_value<bool>(rest);
    // A worker that is told to stop leaves the rest.
    std::size_t position = 0;
    for (const std::string& packed : runtime::take_texts(rest))
      settle(message.from, hand.at(position++), unpack_answer(packed));
  }

  void settle(int rank, std::size_t task, Answer answer) {
    crew.credit(rank, answer);
    answers[task] = std::move(answer);
    --open;
    if (done) done(task, answers[task]);
  }

  void tell_to_stop() {
    if (std::exchange(told_to_stop, true)) return;
    for (std::size_t rank = 1; rank < hands.size(); ++rank) {
      if (!hands[rank].empty()) crew.communicator_.send(static_cast<int>(rank), stop_tag, {});
    }
    crew.team_.abandon();
  }

  std::chrono::microseconds patience() const { return queue.empty() ? long_wait : short_wait; }

  bool any_out() const {
    return std::ranges::any_of(hands, [](const Hand& hand) { return !hand.empty(); });
  }

  Crew& crew;
  const std::vector<Task>& tasks;
  const std::function<void(std::size_t, const Answer&)>& done;
  std::vector<std::size_t> queue;  // hardest last
  double left = 0;                 // hardness of what is in the queue
  std::size_t waiting = 0;         // items of that
  std::vector<Hand> hands;         // by rank; the first one's helpers are given single tasks
  std::vector<Answer> answers;
  std::size_t open;
  bool interrupted = false, told_to_stop = false;
};

std::vector<Answer> Crew::run(const std::vector<Task>& tasks,
                              const std::function<void(std::size_t, const Answer&)>& done) {
  if (store_ == nullptr) return Round(*this, tasks, done).run();
  // Of each task, the items that the store does not answer are asked.
  std::vector<Answer> answers(tasks.size());
  std::vector<Task> open;
  std::vector<std::size_t> positions;            // of the open ones
  std::vector<std::vector<std::size_t>> places;  // of their items
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Task& task = tasks[t];
    Task rest{task.kind, {}, task.hardness};
    std::vector<std::size_t> missing;
    answers[t].items.resize(task.items.size());
    std::vector<std::optional<std::string>> there = store_->find(task);
    for (std::size_t i = 0; i < task.items.size(); ++i) {
      if (there[i]) {
        answers[t].items[i] = std::move(*there[i]);
        continue;
      }
      rest.items.push_back(store_->asked(task.kind, task.items[i]));
      missing.push_back(i);
    }
    if (missing.empty()) continue;
    open.push_back(std::move(rest));
    positions.push_back(t);
    places.push_back(std::move(missing));
  }
  const std::function<void(std::size_t, const Answer&)> take = [&](std::size_t o, const Answer& fresh) {
    Answer& answer = answers[positions[o]];
    answer.effort = fresh.effort;
    answer.failure = fresh.failure;
    if (fresh.failure.empty())
      store_->add(open[o], fresh.items);
    else
      answer.items.clear();
    for (std::size_t i = 0; i < fresh.items.size(); ++i) answer.items[places[o][i]] = fresh.items[i];
    if (done) done(positions[o], answer);
  };
  Round(*this, open, take).run();
  store_->sync();
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
    answers.push_back(known == remembered_.end() ? Answer{} : unpack_answer(known->second));
    if (known != remembered_.end()) continue;
    positions.push_back(tasks.size() - 1);
    open.push_back(tasks.back());
  }
  std::optional<runtime::Progress> progress;
  if (items.size() >= worth_showing) progress.emplace(progress_, stage_ + ", " + asked_for(kind), items.size());
  const auto remember = [&](std::size_t task, const Answer& answer) {
    if (journal_ != nullptr && answer.failure.empty()) journal_->append(journal_key(open[task]), pack(answer));
    if (progress) progress->advance(open[task].items.size());
  };
  std::vector<Answer> fresh = run(open, remember);
  progress.reset();
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

/// The first of the tasks' answers: all of them, unless this rank or the first one is told to stop. The others are done
/// again another time.
std::vector<Answer> Crew::answers_unless_stopped(const std::vector<Task>& tasks) {
  std::vector<std::optional<Answer>> answers(tasks.size());
  std::size_t waiting = 0;
  for (const Task& task : tasks) waiting += task.items.size();
  for (std::size_t next = 0; next < tasks.size() || team_.busy();) {
    while (next < tasks.size() && team_.has_idle(waiting)) {
      waiting -= tasks[next].items.size();
      team_.start(next, tasks[next]);
      ++next;
    }
    if (runtime::interrupted() || communicator_.poll(0, stop_tag)) {
      team_.abandon();
      break;
    }
    for (auto& [task, answer] : team_.finished(next < tasks.size() ? short_wait : long_wait))
      answers[task] = std::move(answer);
  }
  std::vector<Answer> result;
  for (std::size_t i = 0; i < answers.size() && answers[i]; ++i) result.push_back(std::move(*answers[i]));
  return result;
}

/// A worker's side: a chunk at a time. It sends only what it is asked for, so that no two ranks wait to send to each
/// other.
void Crew::serve() {
  for (;;) {
    const runtime::Communicator::Message message = next_message(communicator_, work_tag);
    runtime::ByteView rest = message.bytes;
    const auto word = runtime::take_value<Word>(rest);
    if (word != Word::Work) {
      while (communicator_.poll(0, stop_tag)) {
      }
      if (word == Word::Stop) throw stopped(stage_);
      return;
    }
    team_.change(runtime::take_texts(rest));
    std::vector<Task> tasks;
    for (const std::string& packed : runtime::take_texts(rest)) tasks.push_back(unpack_task(packed));
    std::vector<std::string> answers;
    for (const Answer& answer : answers_unless_stopped(tasks)) answers.push_back(pack(answer));
    runtime::Bytes reply;
    runtime::append_value(reply, team_.restarts());
    runtime::append_value(reply, runtime::interrupted());
    runtime::append_texts(reply, answers);
    communicator_.send(0, answer_tag, reply);
  }
}

void Crew::end_service(bool interrupted) {
  const Word word = interrupted ? Word::Stop : Word::End;
  for (int rank = 1; rank < communicator_.size(); ++rank)
    communicator_.send(rank, work_tag, runtime::bytes_of(std::span(&word, 1)));
}

}  // namespace rulemill::prove
