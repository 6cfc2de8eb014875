// Run by mpirun with any number of ranks: every operation of Communicator against what it must give. Prints "ranks: N
// ok".
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/communicator.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/shared_loop.h"

namespace {

using namespace rulemill::runtime;

void expect(bool condition, const char* what, int rank) {
  if (condition) return;
  std::fprintf(stderr, "rank %d: %s\n", rank, what);
  std::exit(1);
}

/// What rank `from` sends to rank `to`: lengths differ, some are empty.
Bytes message(int from, int to) {
  return Bytes(static_cast<std::size_t>((from * 7 + to * 3) % 11) * 1000, static_cast<std::byte>(from * 16 + to));
}

void check_collectives(const Communicator& world) {
  const int rank = world.rank();
  const int size = world.size();
  Bytes text = rank == 0 ? copy_bytes(bytes_of("from the root")) : Bytes();
  world.broadcast(text);
  expect(text_of(text) == "from the root", "broadcast", rank);

  expect(world.node_rank() == rank, "a rank's number on the one node that there is", rank);

  const auto gathered = world.gather(message(rank, 0));
  expect(gathered.size() == (rank == 0 ? static_cast<std::size_t>(size) : 0), "gather's size", rank);
  for (std::size_t r = 0; r < gathered.size(); ++r)
    expect(gathered[r] == message(static_cast<int>(r), 0), "gather", rank);

  const auto all = world.all_gather(message(rank, 1));
  for (int r = 0; r < size; ++r) expect(all[static_cast<std::size_t>(r)] == message(r, 1), "all_gather", rank);

  for (const std::size_t round : {std::size_t{1} << 20, std::size_t{777}}) {
    std::vector<Bytes> outgoing;
    for (int to = 0; to < size; ++to) outgoing.push_back(message(rank, to));
    const auto incoming = world.all_to_all(std::move(outgoing), round);
    for (int r = 0; r < size; ++r)
      expect(incoming[static_cast<std::size_t>(r)] == message(r, rank), "all_to_all", rank);
  }

  const auto n = static_cast<std::uint64_t>(size);
  expect(world.sum(static_cast<std::uint64_t>(rank)) == n * (n - 1) / 2, "sum", rank);
  expect(world.max(static_cast<double>(rank)) == size - 1.0, "max", rank);
  expect(world.sum(std::vector<std::uint64_t>{1, 2}) == std::vector<std::uint64_t>{n, 2 * n}, "sum of a vector", rank);
  expect(world.any(rank == size - 1) && !world.any(false), "any", rank);
}

/// A manager hands out numbers; workers send back their squares; every number comes back once.
void check_farm(const Communicator& world) {
  constexpr int ask = 1;
  constexpr int work = 2;
  constexpr int stop = 3;
  if (world.size() == 1) return;
  if (world.rank() > 0) {
    world.send(0, ask, {});
    for (;;) {
      const auto order = world.receive(0);
      if (order.tag == stop) return;
      const auto number = values_of<std::uint64_t>(order.bytes).at(0);
      world.send(0, ask, bytes_of(std::vector<std::uint64_t>{number * number}));
    }
  }
  std::uint64_t next = 1;
  std::uint64_t total = 0;
  for (int running = world.size() - 1; running > 0;) {
    const auto request = world.receive(Communicator::any_rank, ask);
    for (const auto square : values_of<std::uint64_t>(request.bytes)) total += square;
    if (next <= 100) {
      world.send(request.from, work, bytes_of(std::vector<std::uint64_t>{next++}));
    } else {
      world.send(request.from, stop, {});
      --running;
    }
  }
  expect(total == 338'350, "the farm's sum of squares", 0);
  expect(!world.poll().has_value(), "messages are left over", 0);
}

/// Every index is run once, on some rank; the first one hears of each; and a loop that follows starts from the front.
void check_shared_loop(const Communicator& world) {
  const Workers workers(2);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{500}}) {
    std::vector<std::uint64_t> mine(count, 0), heard(count, 0);
    std::mutex mutex;
    std::vector<std::size_t> news;
    const auto body = [&](std::size_t i, unsigned thread) {
      expect(thread < workers.threads(), "a thread of a shared loop", world.rank());
      const std::scoped_lock lock(mutex);
      ++mine[i];
      news.push_back(i);
    };
    const Reports reports{[&] {
                            const std::scoped_lock lock(mutex);
                            return std::string(text_of(bytes_of(std::exchange(news, {}))));
                          },
                          [&](std::string_view text) {
                            for (const std::size_t i : values_of<std::size_t>(bytes_of(text))) ++heard.at(i);
                          }};
    run_shared({"a loop", count, 3}, body, workers, world, reports);
    const std::vector<std::uint64_t> once(count, 1);
    if (count > 0) expect(world.sum(mine) == once, "each index of a shared loop once", world.rank());
    if (world.is_root()) expect(heard == once, "what is heard of a shared loop", 0);
  }
}

/// One rank is told to stop: all are, and none waits for another.
void check_stopped_loop(const Communicator& world) {
  const int last = world.size() - 1;
  bool stopped = false;
  try {
    // Long enough for every rank to be given something.
    const auto body = [&](std::size_t, unsigned) {
      if (world.rank() == last) return request_interrupt();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    };
    run_shared({"a loop", 200'000}, body, Workers(1), world);
  } catch (const Interrupted&) {
    stopped = true;
  }
  clear_interrupt();
  expect(stopped, "a shared loop that is told to stop", world.rank());
  world.barrier();
}

/// More than fits into one MPI count, to show that nothing wraps around. Takes 2.2 GiB on two ranks.
void check_large(const Communicator& world) {
  if (world.size() < 2) return;
  const std::size_t size = (std::size_t{1} << 30) + 12'345;
  if (world.rank() == 0) {
    Bytes large(size, std::byte{7});
    large.back() = std::byte{9};
    world.send(1, 5, large);
  } else if (world.rank() == 1) {
    const auto large = world.receive(0, 5);
    expect(large.bytes.size() == size && large.bytes.back() == std::byte{9} && large.bytes[size / 2] == std::byte{7},
           "a message of more than 1 GiB", 1);
  }
  world.barrier();
}

}  // namespace

int main(int argc, char** argv) {
  const MpiSession session;
  const std::string mode = argc > 1 ? argv[1] : "";
  try {
    if (mode == "abort") {
      if (session.world().rank() == 1) throw Error("rank 1", "planted failure");
      session.world().barrier();  // waits for ever unless aborted
    }
    if (mode == "lost") {
      if (session.world().rank() + 1 == session.world().size()) std::raise(SIGKILL);
      session.world().barrier();  // waits for ever unless somebody notices
    }
    check_collectives(session.world());
    check_shared_loop(session.world());
    check_stopped_loop(session.world());
    check_farm(session.world());
    if (mode == "large") check_large(session.world());
    session.world().barrier();
    if (session.world().is_root()) std::printf("ranks: %d ok\n", session.world().size());
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    session.abort(error.exit_code());
    return error.exit_code();
  }
  return 0;
}
