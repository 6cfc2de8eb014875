// Tests every operation of Communicator under mpirun with any number of ranks. Prints "ranks: N ok".
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

#include "runtime/mpi/communicator.h"
#include "runtime/mpi/mpi_session.h"
#include "runtime/mpi/node_memory.h"
#include "runtime/mpi/parallel_for_ranks.h"
#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"

namespace {

using namespace rulemill::runtime;

void expect(bool condition, const char* what, int rank) {
  if (condition) return;
  std::fprintf(stderr, "rank %d: %s\n", rank, what);
  std::exit(1);
}

/// The message from rank `from` to rank `to`. Lengths differ, some are 0.
Bytes message(int from, int to) {
  return Bytes(static_cast<std::size_t>((from * 7 + to * 3) % 11) * 1000, static_cast<std::byte>(from * 16 + to));
}

void check_collectives(const Communicator& world) {
  const int rank = world.rank();
  const int size = world.size();
  Bytes text = rank == 0 ? copy_bytes(bytes_of("from the root")) : Bytes();
  world.broadcast(text);
  expect(text_of(text) == "from the root", "broadcast", rank);

  expect(world.node().rank() == rank && world.node().size() == size && !world.has_other_nodes(), "the only node", rank);
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

/// Rank 0 sends numbers, the other ranks return their squares; every number is returned once.
void check_messages(const Communicator& world) {
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
  expect(total == 338'350, "the sum of squares", 0);
  expect(!world.poll().has_value(), "messages are left over", 0);
}

/// Every index runs once on some rank, the first rank receives a report of each, and a second loop starts from 0.
void check_loop(const Communicator& world) {
  const ThreadPool thread_pool(2);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{500}}) {
    std::vector<std::uint64_t> mine(count, 0), reported(count, 0);
    std::mutex mutex;
    std::vector<std::size_t> unreported;
    const auto body = [&](std::size_t i, unsigned thread) {
      expect(thread < thread_pool.threads(), "a thread of a loop", world.rank());
      const std::scoped_lock lock(mutex);
      ++mine[i];
      unreported.push_back(i);
    };
    const RankReports reports{[&] {
                                const std::scoped_lock lock(mutex);
                                return std::string(text_of(bytes_of(std::exchange(unreported, {}))));
                              },
                              [&](std::string_view text) {
                                for (const std::size_t i : values_of<std::size_t>(bytes_of(text))) ++reported.at(i);
                              }};
    parallel_for_ranks({"a loop", count, 3}, body, thread_pool, world, reports);
    const std::vector<std::uint64_t> once(count, 1);
    if (count > 0) expect(world.sum(mine) == once, "each index of a loop runs once", world.rank());
    if (world.is_root()) expect(reported == once, "each index of a loop is reported once", 0);
  }
}

/// While one rank is busy with its first index, the other ranks do all the work that it has not been assigned.
void check_slow_rank(const Communicator& world) {
  constexpr std::size_t count = 500, max_indices = 3;
  const NodeMemory memory(sizeof(std::uint64_t), world);
  const std::atomic_ref done(*reinterpret_cast<std::uint64_t*>(memory.data()));
  const bool slow = world.size() > 1 && world.rank() == world.size() - 1;
  std::size_t mine = 0;
  const auto body = [&](std::size_t, unsigned) {
    if (slow && mine++ == 0) {
      while (done < count - max_indices) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ++done;
  };
  parallel_for_ranks({"a loop", count, max_indices}, body, ThreadPool(1), world);
  expect(mine <= max_indices && done == count, "the indices of a slow rank", world.rank());
}

/// If one rank is interrupted, all ranks throw Interrupted and none waits for another.
void check_interrupted_loop(const Communicator& world) {
  const int last = world.size() - 1;
  bool interrupted = false;
  try {
    // Long enough for every rank to get an index.
    const auto body = [&](std::size_t, unsigned) {
      if (world.rank() == last) return request_interrupt();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    };
    parallel_for_ranks({"a loop", 200'000}, body, ThreadPool(1), world);
  } catch (const Interrupted&) {
    interrupted = true;
  }
  clear_interrupt();
  expect(interrupted, "an interrupted loop", world.rank());
  world.barrier();
}

/// All ranks of a node see what each of them writes; ranks of other nodes have other memory.
void check_node_memory(const Communicator& world) {
  for (const int ranks_per_node : {1, 2, 64}) {
    const Communicator posed = world.with_ranks_per_node(ranks_per_node);
    const int rank = posed.rank(), node = rank / ranks_per_node, first = node * ranks_per_node;
    const int node_size = std::min(world.size() - first, ranks_per_node);
    expect(posed.node().size() == node_size && posed.node().rank() == rank - first, "a posed node", rank);
    expect(posed.leaders().has_value() == (rank == first), "a posed node's first rank", rank);
    expect(posed.has_other_nodes() == (world.size() > node_size), "other nodes", rank);
    constexpr std::size_t words = 100'000;
    NodeMemory memory(words * sizeof(std::uint64_t), posed);
    const bool several = ranks_per_node > 1 && world.size() > 1;
    expect(memory.is_shared() == several, "memory that ranks of a node share", rank);
    const std::span all(reinterpret_cast<std::uint64_t*>(memory.data()), words);
    for (const std::uint64_t word : all) expect(word == 0, "memory of a node begins with zeros", rank);
    world.barrier();
    for (std::size_t i = static_cast<std::size_t>(rank - first); i < words; i += static_cast<std::size_t>(node_size))
      all[i] = i * 1000 + static_cast<std::size_t>(node);
    posed.node().barrier();
    for (std::size_t i = 0; i < words && (several || node_size == 1); ++i)
      expect(all[i] == i * 1000 + static_cast<std::size_t>(node), "what the others of a node wrote", rank);
    NodeMemory moved = std::move(memory);
    // NOLINTNEXTLINE(bugprone-use-after-move): the state after a move is tested.
    expect(memory.data() == nullptr && moved.data() == reinterpret_cast<std::byte*>(all.data()), "moved memory", rank);
  }
  expect(NodeMemory(0, world).data() == nullptr, "no memory at all", world.rank());
}

/// If one rank cannot create a file of that size, all ranks get private memory and none waits for another.
void check_private_memory(const Communicator& world) {
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const NodeMemory memory(1'000'000, world);
  ::setrlimit(RLIMIT_FSIZE, &before);
  expect(!memory.is_shared() && memory.data() != nullptr, "memory that cannot be shared", world.rank());
  memory.data()[999'999] = static_cast<std::byte>(world.rank());
  world.barrier();
  expect(memory.data()[999'999] == static_cast<std::byte>(world.rank()), "memory of a rank's own", world.rank());
}

/// Sends more than one chunk of 1 GiB. Takes 2.2 GiB of memory on two ranks.
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
      if (session.world().rank() == 1) throw Error("rank 1", "injected failure");
      session.world().barrier();  // waits forever unless aborted
    }
    if (mode == "lost") {
      if (session.world().rank() + 1 == session.world().size()) std::raise(SIGKILL);
      session.world().barrier();  // waits forever unless the failure is detected
    }
    check_collectives(session.world());
    check_loop(session.world());
    check_slow_rank(session.world());
    check_interrupted_loop(session.world());
    check_messages(session.world());
    check_node_memory(session.world());
    check_private_memory(session.world());
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
