#include "runtime/communicator.h"

#define OMPI_SKIP_MPICXX 1  // the C interface alone
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <thread>

#include "runtime/error.h"
#include "runtime/peer_watch.h"

namespace rulemill::runtime {
namespace {

/// MPI counts are ints: larger buffers travel in parts of this many bytes.
constexpr std::size_t part_bytes = std::size_t{1} << 30;
constexpr int bulk_tag = 1000;  // parts after the first, and what collectives send; users' tags are below

void check(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(call, std::string(text, static_cast<std::size_t>(length)));
}

/// Calls part(offset, count) for consecutive parts that cover `bytes`.
void in_parts(std::size_t bytes, const std::function<void(std::size_t, int)>& part) {
  for (std::size_t offset = 0; offset < bytes; offset += part_bytes) {
    part(offset, static_cast<int>(std::min(part_bytes, bytes - offset)));
  }
}

void send_parts(ByteView bytes, int to, MPI_Comm comm) {
  in_parts(bytes.size(), [&](std::size_t offset, int count) {
    check(MPI_Send(bytes.data() + offset, count, MPI_BYTE, to, bulk_tag, comm), "MPI_Send");
  });
}

void receive_parts(std::span<std::byte> bytes, int from, MPI_Comm comm) {
  in_parts(bytes.size(), [&](std::size_t offset, int count) {
    check(MPI_Recv(bytes.data() + offset, count, MPI_BYTE, from, bulk_tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
  });
}

bool set(const char* name) { return std::getenv(name) != nullptr; }

}  // namespace

/// Two communicators: one for messages and collectives, one for the bulk that follows a size.
struct Communicator::Handle {
  /// Collective; keeps `group`. What it sends is counted in `counted`, too.
  explicit Handle(MPI_Comm group, std::shared_ptr<Traffic> counted = std::make_shared<Traffic>())
      : comm(group), traffic(std::move(counted)) {
    check(MPI_Comm_dup(comm, &bulk), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_set_errhandler(bulk, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm bulk = MPI_COMM_NULL;
  std::shared_ptr<Traffic> traffic;
};

struct Communicator::Nodes {
  Communicator own;
  std::optional<Communicator> leaders;
};

Communicator::Communicator(std::shared_ptr<const Handle> handle) : handle_(std::move(handle)) {
  check(MPI_Comm_rank(handle_->comm, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(handle_->comm, &size_), "MPI_Comm_size");
}

const Communicator& Communicator::node() const { return nodes_ ? nodes_->own : *this; }

std::optional<Communicator> Communicator::leaders() const {
  if (nodes_) return nodes_->leaders;
  return is_root() ? std::optional(self()) : std::nullopt;
}

void Communicator::set_nodes(std::shared_ptr<const Handle> ranks_of_node) {
  Communicator node(std::move(ranks_of_node));
  MPI_Comm leaders = MPI_COMM_NULL;
  check(MPI_Comm_split(handle_->comm, node.is_root() ? 0 : MPI_UNDEFINED, rank_, &leaders), "MPI_Comm_split");
  std::optional<Communicator> first;
  if (leaders != MPI_COMM_NULL) first = Communicator(std::make_shared<Handle>(leaders, handle_->traffic));
  nodes_ = std::make_shared<Nodes>(Nodes{std::move(node), std::move(first)});
}

Communicator Communicator::in_nodes_of(int ranks) const {
  Communicator posed = *this;
  if (!handle_) return posed;
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split(handle_->comm, rank_ / ranks, rank_, &node), "MPI_Comm_split");
  posed.set_nodes(std::make_shared<Handle>(node, handle_->traffic));
  return posed;
}

/// Counts what one call sends and how long it takes.
class Communicator::Meter {
 public:
  Meter(const Communicator& communicator, std::size_t bytes) : handle_(communicator.handle_.get()) {
    if (handle_ != nullptr) handle_->traffic->bytes_sent += bytes;
  }
  ~Meter() {
    if (handle_ == nullptr) return;
    handle_->traffic->seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

 private:
  const Handle* handle_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

Communicator::Traffic Communicator::traffic() const { return handle_ ? *handle_->traffic : Traffic{}; }

bool mpi_launcher_present() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"}) {
    if (set(name)) return true;
  }
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  if (tasks != nullptr && set("SLURM_STEP_ID") && set("SLURM_PROCID") && std::atoi(tasks) > 1) {
    throw UsageError("srun", "started " + std::string(tasks) + " tasks without an MPI plug-in; use srun --mpi=pmix");
  }
  return false;
}

std::string mpi_library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string version(text, static_cast<std::size_t>(length));
  return version.substr(0, version.find_first_of(",\n"));
}

Communicator Communicator::self() { return {}; }

void Communicator::barrier() const {
  const Meter meter(*this, 0);
  if (handle_) check(MPI_Barrier(handle_->comm), "MPI_Barrier");
}

void Communicator::broadcast(Bytes& bytes, int root) const {
  if (!handle_) return;
  const Meter meter(*this, rank_ == root ? bytes.size() : 0);
  std::uint64_t size = bytes.size();
  check(MPI_Bcast(&size, 1, MPI_UINT64_T, root, handle_->comm), "MPI_Bcast");
  bytes.resize(size);
  in_parts(size, [&](std::size_t offset, int count) {
    check(MPI_Bcast(bytes.data() + offset, count, MPI_BYTE, root, handle_->comm), "MPI_Bcast");
  });
}

void Communicator::broadcast(std::string& text, int root) const {
  Bytes bytes = copy_bytes(bytes_of(text));
  broadcast(bytes, root);
  text = std::string(text_of(bytes));
}

std::vector<Bytes> Communicator::gather(ByteView bytes, int root) const {
  if (!handle_) return {copy_bytes(bytes)};
  const Meter meter(*this, rank_ == root ? 0 : bytes.size());
  const std::uint64_t size = bytes.size();
  std::vector<std::uint64_t> sizes(rank_ == root ? size_ : 0);
  check(MPI_Gather(&size, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, root, handle_->comm), "MPI_Gather");
  if (rank_ != root) {
    send_parts(bytes, root, handle_->bulk);
    return {};
  }
  std::vector<Bytes> all(static_cast<std::size_t>(size_));
  for (int from = 0; from < size_; ++from) {
    Bytes& part = all[static_cast<std::size_t>(from)];
    if (from == root) {
      part = copy_bytes(bytes);
    } else {
      part.resize(sizes[static_cast<std::size_t>(from)]);
      receive_parts(part, from, handle_->bulk);
    }
  }
  return all;
}

std::vector<Bytes> Communicator::all_gather(ByteView bytes) const {
  if (!handle_) return {copy_bytes(bytes)};
  const Meter meter(*this, bytes.size());
  const std::uint64_t size = bytes.size();
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size_));
  check(MPI_Allgather(&size, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, handle_->comm), "MPI_Allgather");
  std::uint64_t total = 0;
  for (const std::uint64_t part : sizes) total += part;
  std::vector<Bytes> all(sizes.size());
  if (total > part_bytes) {
    for (int root = 0; root < size_; ++root) {
      Bytes& part = all[static_cast<std::size_t>(root)];
      if (root == rank_) part = copy_bytes(bytes);
      broadcast(part, root);
    }
    return all;
  }
  std::vector<int> counts, offsets;
  int offset = 0;
  for (const std::uint64_t part : sizes) {
    counts.push_back(static_cast<int>(part));
    offsets.push_back(offset);
    offset += static_cast<int>(part);
  }
  Bytes flat(total);
  check(MPI_Allgatherv(bytes.data(), static_cast<int>(size), MPI_BYTE, flat.data(), counts.data(), offsets.data(),
                       MPI_BYTE, handle_->comm),
        "MPI_Allgatherv");
  for (std::size_t r = 0; r < all.size(); ++r) {
    all[r] = copy_bytes(ByteView(flat).subspan(static_cast<std::size_t>(offsets[r]), sizes[r]));
  }
  return all;
}

std::vector<Bytes> Communicator::all_to_all(std::vector<Bytes> outgoing, std::size_t round_bytes) const {
  RM_CHECK(outgoing.size() == static_cast<std::size_t>(size_), "all_to_all needs one buffer for each rank");
  if (!handle_) return outgoing;
  const std::size_t step = std::clamp(round_bytes, std::size_t{1}, part_bytes);
  std::vector<std::uint64_t> out_sizes, in_sizes(outgoing.size());
  std::size_t to_others = 0;
  for (const Bytes& buffer : outgoing) {
    out_sizes.push_back(buffer.size());
    to_others += buffer.size();
  }
  const Meter meter(*this, to_others - outgoing[static_cast<std::size_t>(rank_)].size());
  check(MPI_Alltoall(out_sizes.data(), 1, MPI_UINT64_T, in_sizes.data(), 1, MPI_UINT64_T, handle_->comm),
        "MPI_Alltoall");

  std::vector<Bytes> incoming(outgoing.size());
  const auto own = static_cast<std::size_t>(rank_);
  incoming[own] = std::move(outgoing[own]);
  // In turn s, every rank sends to the one s places after it and receives from the one s places before.
  for (int shift = 1; shift < size_; ++shift) {
    const int to = (rank_ + shift) % size_, from = (rank_ - shift + size_) % size_;
    Bytes& sent = outgoing[static_cast<std::size_t>(to)];
    Bytes& received = incoming[static_cast<std::size_t>(from)];
    received.resize(in_sizes[static_cast<std::size_t>(from)]);
    for (std::uint64_t offset = 0; offset < std::max(sent.size(), received.size()); offset += step) {
      std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      const auto part = [&](std::uint64_t size) {
        return static_cast<int>(std::min<std::uint64_t>(step, size - offset));
      };
      if (offset < received.size()) {
        check(MPI_Irecv(received.data() + offset, part(received.size()), MPI_BYTE, from, bulk_tag, handle_->bulk,
                        &requests[0]),
              "MPI_Irecv");
      }
      if (offset < sent.size()) {
        check(MPI_Isend(sent.data() + offset, part(sent.size()), MPI_BYTE, to, bulk_tag, handle_->bulk, &requests[1]),
              "MPI_Isend");
      }
      check(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    }
    Bytes().swap(sent);
  }
  return incoming;
}

namespace {

template <class T>
T reduce(T value, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  T result{};
  check(MPI_Allreduce(&value, &result, 1, type, op, comm), "MPI_Allreduce");
  return result;
}

}  // namespace

std::uint64_t Communicator::sum(std::uint64_t value) const {
  const Meter meter(*this, sizeof value);
  return handle_ ? reduce(value, MPI_UINT64_T, MPI_SUM, handle_->comm) : value;
}
std::uint64_t Communicator::max(std::uint64_t value) const {
  const Meter meter(*this, sizeof value);
  return handle_ ? reduce(value, MPI_UINT64_T, MPI_MAX, handle_->comm) : value;
}
double Communicator::sum(double value) const {
  const Meter meter(*this, sizeof value);
  return handle_ ? reduce(value, MPI_DOUBLE, MPI_SUM, handle_->comm) : value;
}
double Communicator::max(double value) const {
  const Meter meter(*this, sizeof value);
  return handle_ ? reduce(value, MPI_DOUBLE, MPI_MAX, handle_->comm) : value;
}

std::vector<std::uint64_t> Communicator::sum(const std::vector<std::uint64_t>& values) const {
  if (!handle_) return values;
  const Meter meter(*this, values.size() * sizeof(std::uint64_t));
  std::vector<std::uint64_t> result(values.size());
  check(MPI_Allreduce(values.data(), result.data(), static_cast<int>(values.size()), MPI_UINT64_T, MPI_SUM,
                      handle_->comm),
        "MPI_Allreduce");
  return result;
}

// A message is its size (8 bytes) and its first part; what does not fit into one part follows on the bulk communicator.
void Communicator::send(int to, int tag, ByteView bytes) const {
  RM_CHECK(handle_ != nullptr, "a single process has nobody to send to");
  RM_CHECK(tag >= 0 && tag < bulk_tag, "message tags are 0 to 999");
  const Meter meter(*this, bytes.size());
  const ByteView first = bytes.first(std::min(bytes.size(), part_bytes));
  Bytes message;
  message.reserve(first.size() + sizeof(std::uint64_t));
  append_value(message, std::uint64_t{bytes.size()});
  message.insert(message.end(), first.begin(), first.end());
  check(MPI_Send(message.data(), static_cast<int>(message.size()), MPI_BYTE, to, tag, handle_->comm), "MPI_Send");
  send_parts(bytes.subspan(first.size()), to, handle_->bulk);
}

namespace {

/// Receives a message that a probe has matched.
Communicator::Message receive_matched(MPI_Message& matched, MPI_Status& status, MPI_Comm bulk) {
  int count = 0;
  check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
  Bytes message(static_cast<std::size_t>(count));
  check(MPI_Mrecv(message.data(), count, MPI_BYTE, &matched, &status), "MPI_Mrecv");
  RM_CHECK(message.size() >= sizeof(std::uint64_t), "a message without its size");
  std::uint64_t size = 0;
  std::memcpy(&size, message.data(), sizeof size);
  message.erase(message.begin(), message.begin() + sizeof size);
  const std::size_t first = message.size();
  message.resize(size);
  receive_parts(std::span(message).subspan(first), status.MPI_SOURCE, bulk);
  return {status.MPI_SOURCE, status.MPI_TAG, std::move(message)};
}

}  // namespace

Communicator::Message Communicator::receive(int from, int tag) const {
  RM_CHECK(handle_ != nullptr, "a single process has nobody to receive from");
  const Meter meter(*this, 0);
  MPI_Message matched;
  MPI_Status status;
  check(MPI_Mprobe(from == any_rank ? MPI_ANY_SOURCE : from, tag == any_tag ? MPI_ANY_TAG : tag, handle_->comm,
                   &matched, &status),
        "MPI_Mprobe");
  return receive_matched(matched, status, handle_->bulk);
}

std::optional<Communicator::Message> Communicator::poll(int from, int tag) const {
  if (!handle_) return std::nullopt;
  int found = 0;
  MPI_Message matched;
  MPI_Status status;
  check(MPI_Improbe(from == any_rank ? MPI_ANY_SOURCE : from, tag == any_tag ? MPI_ANY_TAG : tag, handle_->comm, &found,
                    &matched, &status),
        "MPI_Improbe");
  if (found == 0) return std::nullopt;
  return receive_matched(matched, status, handle_->bulk);
}

MpiSession::MpiSession() : world_(Communicator::self()) {
  if (!mpi_launcher_present()) return;
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  started_ = true;
  MPI_Comm all = MPI_COMM_NULL, node = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &all), "MPI_Comm_dup");
  world_ = Communicator(std::make_shared<Communicator::Handle>(all));
  check(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, world_.rank(), MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  world_.set_nodes(std::make_shared<Communicator::Handle>(node, world_.handle_->traffic));
  if (world_.size() > 1) watch_ = std::make_unique<PeerWatch>(world_);
}

MpiSession::~MpiSession() {
  // Ranks wait for each other there, too: the watch ends after it.
  if (started_) MPI_Finalize();
}

bool MpiSession::all_arrive(std::chrono::milliseconds patience) const {
  if (!started_) return true;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  MPI_Request request = MPI_REQUEST_NULL;
  int arrived = 0;
  // Not on the messages' communicator: other ranks may wait there in another collective.
  if (MPI_Ibarrier(world_.handle_->bulk, &request) != MPI_SUCCESS) return false;
  while (arrived == 0 && std::chrono::steady_clock::now() < deadline) {
    if (MPI_Test(&request, &arrived, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (arrived == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return arrived != 0;
}

void MpiSession::abort(int exit_code) const {
  if (!started_ || world_.size() == 1) return;
  watch_->end_others(exit_code);
  MPI_Abort(MPI_COMM_WORLD, exit_code);
}

}  // namespace rulemill::runtime
