#include "runtime/mpi/communicator.h"

#define OMPI_SKIP_MPICXX 1  // only the C interface
#include <mpi.h>

#include <algorithm>
#include <array>
#include <functional>
#include <thread>

#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

/// MPI counts are of type int. Larger buffers are sent in chunks of this many bytes.
constexpr std::size_t chunk_bytes = std::size_t{1} << 30;
constexpr int bulk_tag = 1000;  // for chunks after the first and for collectives; users' tags are smaller

void check(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(call, std::string(text, static_cast<std::size_t>(length)));
}

/// Calls body(offset, count) for consecutive chunks that cover `bytes`.
void for_each_chunk(std::size_t bytes, const std::function<void(std::size_t, int)>& body) {
  for (std::size_t offset = 0; offset < bytes; offset += chunk_bytes) {
    body(offset, static_cast<int>(std::min(chunk_bytes, bytes - offset)));
  }
}

void send_chunks(ByteView bytes, int to, MPI_Comm comm) {
  for_each_chunk(bytes.size(), [&](std::size_t offset, int count) {
    check(MPI_Send(bytes.data() + offset, count, MPI_BYTE, to, bulk_tag, comm), "MPI_Send");
  });
}

void receive_chunks(std::span<std::byte> bytes, int from, MPI_Comm comm) {
  for_each_chunk(bytes.size(), [&](std::size_t offset, int count) {
    check(MPI_Recv(bytes.data() + offset, count, MPI_BYTE, from, bulk_tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
  });
}

}  // namespace

/// Two MPI communicators: one for messages and collectives, one for the chunks that follow a size.
struct Communicator::Handle {
  /// Collective. Takes ownership of `group`. `counters` may be shared with other handles.
  explicit Handle(MPI_Comm group, std::shared_ptr<Traffic> counters = std::make_shared<Traffic>())
      : comm(group), traffic(std::move(counters)) {
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
  std::optional<Communicator> first_ranks;
  if (leaders != MPI_COMM_NULL) first_ranks = Communicator(std::make_shared<Handle>(leaders, handle_->traffic));
  nodes_ = std::make_shared<Nodes>(Nodes{std::move(node), std::move(first_ranks)});
}

Communicator Communicator::with_ranks_per_node(int ranks) const {
  Communicator result = *this;
  if (!handle_) return result;
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split(handle_->comm, rank_ / ranks, rank_, &node), "MPI_Comm_split");
  result.set_nodes(std::make_shared<Handle>(node, handle_->traffic));
  return result;
}

/// Counts the bytes and the seconds of one call.
class Communicator::TrafficMeter {
 public:
  TrafficMeter(const Communicator& communicator, std::size_t bytes) : handle_(communicator.handle_.get()) {
    if (handle_ != nullptr) handle_->traffic->bytes_sent += bytes;
  }
  ~TrafficMeter() {
    if (handle_ != nullptr) handle_->traffic->seconds += watch_.seconds();
  }
  TrafficMeter(const TrafficMeter&) = delete;
  TrafficMeter& operator=(const TrafficMeter&) = delete;

 private:
  const Handle* handle_;
  Stopwatch watch_;
};

Communicator::Traffic Communicator::traffic() const { return handle_ ? *handle_->traffic : Traffic{}; }

std::string mpi_library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string version(text, static_cast<std::size_t>(length));
  return version.substr(0, version.find_first_of(",\n"));
}

Communicator Communicator::self() { return {}; }

Communicator Communicator::world() {
  MPI_Comm all = MPI_COMM_NULL, node = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &all), "MPI_Comm_dup");
  Communicator world(std::make_shared<Handle>(all));
  check(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, world.rank(), MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  world.set_nodes(std::make_shared<Handle>(node, world.handle_->traffic));
  return world;
}

void Communicator::barrier() const {
  const TrafficMeter meter(*this, 0);
  if (handle_) check(MPI_Barrier(handle_->comm), "MPI_Barrier");
}

bool Communicator::all_ranks_arrive(std::chrono::milliseconds timeout) const {
  if (!handle_) return true;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MPI_Request request = MPI_REQUEST_NULL;
  int arrived = 0;
  // Other ranks may be waiting in a different collective on `comm`.
  if (MPI_Ibarrier(handle_->bulk, &request) != MPI_SUCCESS) return false;
  while (arrived == 0 && std::chrono::steady_clock::now() < deadline) {
    if (MPI_Test(&request, &arrived, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (arrived == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return arrived != 0;
}

void Communicator::broadcast(Bytes& bytes, int root) const {
  if (!handle_) return;
  const TrafficMeter meter(*this, rank_ == root ? bytes.size() : 0);
  std::uint64_t size = bytes.size();
  check(MPI_Bcast(&size, 1, MPI_UINT64_T, root, handle_->comm), "MPI_Bcast");
  bytes.resize(size);
  for_each_chunk(size, [&](std::size_t offset, int count) {
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
  const TrafficMeter meter(*this, rank_ == root ? 0 : bytes.size());
  const std::uint64_t size = bytes.size();
  std::vector<std::uint64_t> sizes(rank_ == root ? size_ : 0);
  check(MPI_Gather(&size, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, root, handle_->comm), "MPI_Gather");
  if (rank_ != root) {
    send_chunks(bytes, root, handle_->bulk);
    return {};
  }
  std::vector<Bytes> all(static_cast<std::size_t>(size_));
  for (int from = 0; from < size_; ++from) {
    Bytes& buffer = all[static_cast<std::size_t>(from)];
    if (from == root) {
      buffer = copy_bytes(bytes);
    } else {
      buffer.resize(sizes[static_cast<std::size_t>(from)]);
      receive_chunks(buffer, from, handle_->bulk);
    }
  }
  return all;
}

std::vector<Bytes> Communicator::all_gather(ByteView bytes) const {
  if (!handle_) return {copy_bytes(bytes)};
  const TrafficMeter meter(*this, bytes.size());
  const std::uint64_t size = bytes.size();
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size_));
  check(MPI_Allgather(&size, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, handle_->comm), "MPI_Allgather");
  std::uint64_t total = 0;
  for (const std::uint64_t rank_size : sizes) total += rank_size;
  std::vector<Bytes> all(sizes.size());
  if (total > chunk_bytes) {
    for (int root = 0; root < size_; ++root) {
      Bytes& buffer = all[static_cast<std::size_t>(root)];
      if (root == rank_) buffer = copy_bytes(bytes);
      broadcast(buffer, root);
    }
    return all;
  }
  std::vector<int> counts, offsets;
  int offset = 0;
  for (const std::uint64_t rank_size : sizes) {
    counts.push_back(static_cast<int>(rank_size));
    offsets.push_back(offset);
    offset += static_cast<int>(rank_size);
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

std::vector<Bytes> Communicator::all_to_all(std::vector<Bytes> outgoing, std::size_t max_message_bytes) const {
  RM_CHECK(outgoing.size() == static_cast<std::size_t>(size_), "all_to_all() needs one buffer per rank");
  if (!handle_) return outgoing;
  const std::size_t step = std::clamp(max_message_bytes, std::size_t{1}, chunk_bytes);
  std::vector<std::uint64_t> out_sizes, in_sizes(outgoing.size());
  std::size_t to_others = 0;
  for (const Bytes& buffer : outgoing) {
    out_sizes.push_back(buffer.size());
    to_others += buffer.size();
  }
  const TrafficMeter meter(*this, to_others - outgoing[static_cast<std::size_t>(rank_)].size());
  check(MPI_Alltoall(out_sizes.data(), 1, MPI_UINT64_T, in_sizes.data(), 1, MPI_UINT64_T, handle_->comm),
        "MPI_Alltoall");

  std::vector<Bytes> incoming(outgoing.size());
  const auto own = static_cast<std::size_t>(rank_);
  incoming[own] = std::move(outgoing[own]);
  // In step `shift`, rank r sends to rank r + shift and receives from rank r − shift (mod size).
  for (int shift = 1; shift < size_; ++shift) {
    const int to = (rank_ + shift) % size_, from = (rank_ - shift + size_) % size_;
    Bytes& sent = outgoing[static_cast<std::size_t>(to)];
    Bytes& received = incoming[static_cast<std::size_t>(from)];
    received.resize(in_sizes[static_cast<std::size_t>(from)]);
    for (std::uint64_t offset = 0; offset < std::max(sent.size(), received.size()); offset += step) {
      std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      const auto chunk = [&](std::uint64_t size) {
        return static_cast<int>(std::min<std::uint64_t>(step, size - offset));
      };
      if (offset < received.size()) {
        check(MPI_Irecv(received.data() + offset, chunk(received.size()), MPI_BYTE, from, bulk_tag, handle_->bulk,
                        &requests[0]),
              "MPI_Irecv");
      }
      if (offset < sent.size()) {
        check(MPI_Isend(sent.data() + offset, chunk(sent.size()), MPI_BYTE, to, bulk_tag, handle_->bulk, &requests[1]),
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
  const TrafficMeter meter(*this, sizeof value);
  return handle_ ? reduce(value, MPI_UINT64_T, MPI_SUM, handle_->comm) : value;
}
std::uint64_t Communicator::max(std::uint64_t value) const {
  const TrafficMeter meter(*this, sizeof value);
  return handle_ ? reduce(value, MPI_UINT64_T, MPI_MAX, handle_->comm) : value;
}
double Communicator::sum(double value) const {
  const TrafficMeter meter(*this, sizeof value);
  return handle_ ? reduce(value, MPI_DOUBLE, MPI_SUM, handle_->comm) : value;
}
double Communicator::max(double value) const {
  const TrafficMeter meter(*this, sizeof value);
  return handle_ ? reduce(value, MPI_DOUBLE, MPI_MAX, handle_->comm) : value;
}

std::vector<std::uint64_t> Communicator::sum(const std::vector<std::uint64_t>& values) const {
  if (!handle_) return values;
  const TrafficMeter meter(*this, values.size() * sizeof(std::uint64_t));
  std::vector<std::uint64_t> result(values.size());
  check(MPI_Allreduce(values.data(), result.data(), static_cast<int>(values.size()), MPI_UINT64_T, MPI_SUM,
                      handle_->comm),
        "MPI_Allreduce");
  return result;
}

// A message is its size (8 bytes) and its first chunk. Further chunks follow on the bulk communicator.
void Communicator::send(int to, int tag, ByteView bytes) const {
  RM_CHECK(handle_ != nullptr, "a single process cannot send");
  RM_CHECK(tag >= 0 && tag < bulk_tag, "message tags are 0 to 999");
  const TrafficMeter meter(*this, bytes.size());
  const ByteView first = bytes.first(std::min(bytes.size(), chunk_bytes));
  Bytes message;
  message.reserve(first.size() + sizeof(std::uint64_t));
  append_value(message, std::uint64_t{bytes.size()});
  message.insert(message.end(), first.begin(), first.end());
  check(MPI_Send(message.data(), static_cast<int>(message.size()), MPI_BYTE, to, tag, handle_->comm), "MPI_Send");
  send_chunks(bytes.subspan(first.size()), to, handle_->bulk);
}

namespace {

/// Receives a message that was matched by a probe.
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
  receive_chunks(std::span(message).subspan(first), status.MPI_SOURCE, bulk);
  return {status.MPI_SOURCE, status.MPI_TAG, std::move(message)};
}

}  // namespace

Communicator::Message Communicator::receive(int from, int tag) const {
  RM_CHECK(handle_ != nullptr, "a single process cannot receive");
  const TrafficMeter meter(*this, 0);
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

}  // namespace rulemill::runtime
