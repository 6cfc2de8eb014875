// The one MPI door: a session that starts and ends MPI, and a communicator of byte buffers. Without a launcher (mpirun,
// srun) MPI is never started and everything works as one process. Counts above 2 GB are sent in parts.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/bytes.h"

namespace rulemill::runtime {

/// Whether the environment says that mpirun or srun started this process as one of several.
/// Throws UsageError if srun started several tasks without an MPI plug-in: they would not know of each other.
bool mpi_launcher_present();

/// "Open MPI v4.1.4 …": the library that this binary is linked with.
std::string mpi_library_version();

/// A group of ranks. Cheap to copy. Every collective must be called by all ranks in the same order; a failing MPI call
/// throws Error. One thread at a time.
class Communicator {
 public:
  /// One process on its own; needs no MPI.
  static Communicator self();

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }
  /// The ranks of this rank's node, who can share memory.
  const Communicator& node() const;
  /// The first rank of every node; there for these alone.
  std::optional<Communicator> leaders() const;
  /// Whether there are ranks on other nodes.
  bool has_other_nodes() const { return size_ > node().size(); }
  /// Collective: the same ranks, as if every `ranks` consecutive ones had a node. For tests of several nodes on one.
  Communicator in_nodes_of(int ranks) const;

  /// What this rank has sent so far, and the seconds in which it exchanged, or waited for others to do so.
  struct Traffic {
    std::uint64_t bytes_sent = 0;
    double seconds = 0;
  };
  Traffic traffic() const;

  void barrier() const;
  /// Replaces `bytes` on every rank with root's.
  void broadcast(Bytes& bytes, int root = 0) const;
  void broadcast(std::string& text, int root = 0) const;
  /// Everybody's bytes by rank, on root; empty elsewhere.
  std::vector<Bytes> gather(ByteView bytes, int root = 0) const;
  std::vector<Bytes> all_gather(ByteView bytes) const;
  /// outgoing[r] goes to rank r; the result's [r] came from rank r. A rank deals with one pair of others at a time, in
  /// messages of at most `round_bytes`; what it receives is allocated then, and what it has sent is freed.
  std::vector<Bytes> all_to_all(std::vector<Bytes> outgoing, std::size_t round_bytes = std::size_t{64} << 20) const;

  std::uint64_t sum(std::uint64_t value) const;
  std::uint64_t max(std::uint64_t value) const;
  double sum(double value) const;
  double max(double value) const;
  /// Element by element.
  std::vector<std::uint64_t> sum(const std::vector<std::uint64_t>& values) const;
  bool any(bool value) const { return max(std::uint64_t{value}) != 0; }

  /// Point to point, for a manager and its workers. Tags are 0 … 999. `send` returns once `bytes` may be reused.
  void send(int to, int tag, ByteView bytes) const;
  struct Message {
    int from = 0;
    int tag = 0;
    Bytes bytes;
  };
  /// Waits for the next message; any_rank and any_tag take whichever comes first.
  static constexpr int any_rank = -1;
  static constexpr int any_tag = -1;
  Message receive(int from = any_rank, int tag = any_tag) const;
  /// The next message if one has arrived.
  std::optional<Message> poll(int from = any_rank, int tag = any_tag) const;

 private:
  friend class MpiSession;
  struct Handle;
  struct Nodes;
  class Meter;
  Communicator() = default;
  explicit Communicator(std::shared_ptr<const Handle> handle);
  /// Collective.
  void set_nodes(std::shared_ptr<const Handle> node);

  std::shared_ptr<const Handle> handle_;  // none: a single process
  std::shared_ptr<const Nodes> nodes_;    // none: it is one node
  int rank_ = 0;
  int size_ = 1;
};

class PeerWatch;

/// Starts MPI if a launcher is present, ends it when destroyed. Make one, first thing in main, and keep it there. A
/// rank that is lost meanwhile ends the others.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  const Communicator& world() const { return world_; }
  bool started() const { return started_; }
  /// Whether every rank calls this within `patience`: a failure that all ranks met can end without an abort.
  bool all_arrive(std::chrono::milliseconds patience) const;
  /// Ends every rank at once if there are several; otherwise returns, and the caller exits by itself.
  void abort(int exit_code) const;

 private:
  bool started_ = false;
  Communicator world_;
  std::unique_ptr<PeerWatch> watch_;
};

}  // namespace rulemill::runtime
