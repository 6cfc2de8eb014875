// Run by mpirun with any number of ranks: every operation of Communicator against what it must give. Prints "ranks: N
// ok".
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/communicator.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/node_memory.h"
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

  expect(world.node().rank() == rank && world.node().size() == size && !world.has_other_nodes(),
         "the one node that there is", rank);
  const auto leaders = world.leaders();
  expect(leaders.has_value() == (rank == 0) && (!leaders || leaders->size() == 1), "the first rank of a node", rank);

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

/// A rank that is held up at its first index keeps no more than it was handed: the others do the rest meanwhile.
void check_slow_rank(const Communicator& world) {
  constexpr std::size_t count = 500, at_once = 3;
  const NodeMemory memory(sizeof(std::uint64_t), world);
  const std::atomic_ref done(*reinterpret_cast<std::uint64_t*>(memory.data()));
  const bool slow = world.size() > 1 && world.rank() == world.size() - 1;
  std::size_t mine = 0;
  const auto body = [&](std::size_t, unsigned) {
    if (slow && mine++ == 0) {
      while (done < count - at_once) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ++done;
  };
  run_shared({"a loop", count, at_once}, body, Workers(1), world);
  expect(mine <= at_once && done == count, "what a slow rank did of a shared loop", world.rank());
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

/// What each rank of a node writes, all of it see; ranks of other nodes have memory of their own.
void check_node_memory(const Communicator& world) {
  for (const int ranks_each : {1, 2, 64}) {
    const Communicator posed = world.in_nodes_of(ranks_each);
    const int rank = posed.rank(), node = rank / ranks_each, first = node * ranks_each;
    const int there = std::min(world.size() - first, ranks_each);
    expect(posed.node().size() == there && posed.node().rank() == rank - first, "a posed node", rank);
    expect(posed.leaders().has_value() == (rank == first), "a posed node's first rank", rank);
    expect(posed.has_other_nodes() == (world.size() > there), "other nodes", rank);
    constexpr std::size_t words = 100'000;
    NodeMemory memory(words * sizeof(std::uint64_t), posed);
    const bool several = ranks_each > 1 && world.size() > 1;
    expect(memory.shared() == several, "memory that ranks of a node share", rank);
    const std::span all(reinterpret_cast<std::uint64_t*>(memory.data()), words);
    for (const std::uint64_t word : all) expect(word == 0, "memory of a node begins with zeros", rank);
    world.barrier();
    for (std::size_t i = static_cast<std::size_t>(rank - first); i < words; i += static_cast<std::size_t>(there))
      all[i] = i * 1000 + static_cast<std::size_t>(node);
    posed.node().barrier();
    for (std::size_t i = 0; i < words && (several || there == 1); ++i)
      expect(all[i] == i * 1000 + static_cast<std::size_t>(node), "what the others of a node wrote", rank);
    NodeMemory moved = std::move(memory);
    // NOLINTNEXTLINE(bugprone-use-after-move): what a memory is after a move is what is asked.
    expect(memory.data() == nullptr && moved.data() == reinterpret_cast<std::byte*>(all.data()), "moved memory", rank);
  }
  expect(NodeMemory(0, world).data() == nullptr, "no memory at all", world.rank());
}

/// One rank may not make as large a file: all have memory of their own, and none waits for another.
void check_no_node_memory(const Communicator& world) {
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const NodeMemory memory(1'000'000, world);
  ::setrlimit(RLIMIT_FSIZE, &before);
  expect(!memory.shared() && memory.data() != nullptr, "memory that cannot be shared", world.rank());
  memory.data()[999'999] = static_cast<std::byte>(world.rank());
  world.barrier();
  expect(memory.data()[999'999] == static_cast<std::byte>(world.rank()), "memory of a rank's own", world.rank());
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
    check_slow_rank(session.world());
    check_stopped_loop(session.world());
    check_farm(session.world());
    check_node_memory(session.world());
    check_no_node_memory(session.world());
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
