// MPI communicators of byte buffers. A single process needs no MPI. Large buffers are sent in chunks of 1 GiB.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/text/bytes.h"

namespace rulemill::runtime {

/// The MPI library that this binary is linked with: "Open MPI v4.1.4 …".
std::string mpi_library_version();

/// A group of ranks. Cheap to copy. All ranks must call the collectives in the same order. A failing MPI call throws
/// Error. Not thread-safe.
class Communicator {
 public:
  /// A single process, without MPI.
  static Communicator self();
  /// Collective. All ranks of the launcher. MPI must have been started.
  static Communicator world();

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }
  /// The ranks of this rank's node, which can share memory.
  const Communicator& node() const;
  /// The first rank of every node; nothing on the other ranks.
  std::optional<Communicator> leaders() const;
  /// Whether there are ranks on other nodes.
  bool has_other_nodes() const { return size_ > node().size(); }
  /// Collective. The same ranks, as if there were a node for every `ranks` consecutive ones. For tests.
  Communicator with_ranks_per_node(int ranks) const;

  /// The bytes that this rank has sent so far, and the seconds that it communicated or waited for other ranks.
  struct Traffic {
    std::uint64_t bytes_sent = 0;
    double seconds = 0;
  };
  Traffic traffic() const;

  void barrier() const;
  /// Replaces `bytes` on every rank by those of the root.
  void broadcast(Bytes& bytes, int root = 0) const;
  void broadcast(std::string& text, int root = 0) const;
  /// On the root, the bytes of all ranks in order; empty on the other ranks.
  std::vector<Bytes> gather(ByteView bytes, int root = 0) const;
  std::vector<Bytes> all_gather(ByteView bytes) const;
  /// Sends outgoing[r] to rank r; [r] of the result is from rank r. To bound memory, a rank exchanges with one pair of
  /// ranks at a time, in messages of at most `max_message_bytes`, and frees what it has sent.
  std::vector<Bytes> all_to_all(std::vector<Bytes> outgoing,
                                std::size_t max_message_bytes = std::size_t{64} << 20) const;

  std::uint64_t sum(std::uint64_t value) const;
  std::uint64_t max(std::uint64_t value) const;
  double sum(double value) const;
  double max(double value) const;
  /// Adds element by element.
  std::vector<std::uint64_t> sum(const std::vector<std::uint64_t>& values) const;
  bool any(bool value) const { return max(std::uint64_t{value}) != 0; }
  /// Whether every rank calls this within `timeout`. Other ranks may be in a different collective.
  bool all_ranks_arrive(std::chrono::milliseconds timeout) const;

  /// Sends to one rank. Tags are 0 … 999. Returns once `bytes` may be reused.
  void send(int to, int tag, ByteView bytes) const;
  struct Message {
    int from = 0;
    int tag = 0;
    Bytes bytes;
  };
  static constexpr int any_rank = -1;
  static constexpr int any_tag = -1;
  /// Waits for the next message.
  Message receive(int from = any_rank, int tag = any_tag) const;
  /// Returns the next message if one has arrived.
  std::optional<Message> poll(int from = any_rank, int tag = any_tag) const;

 private:
  struct Handle;
  struct Nodes;
  class TrafficMeter;
  Communicator() = default;
  explicit Communicator(std::shared_ptr<const Handle> handle);
  /// Collective.
  void set_nodes(std::shared_ptr<const Handle> node);

  std::shared_ptr<const Handle> handle_;  // null for a single process
  std::shared_ptr<const Nodes> nodes_;    // null if all ranks are on one node
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace rulemill::runtime
