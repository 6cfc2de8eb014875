#include "runtime/mpi/failure_detector.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/mpi/communicator.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int max_children = 16;
constexpr milliseconds accept_timeout{5000};   // for all children to connect
constexpr milliseconds connect_timeout{1000};  // for one address of the parent
constexpr int lost_rank_exit_code = 4;         // that of Interrupted: the command can be resumed
constexpr int heartbeats_per_timeout = 10;
constexpr int default_timeout = 60;  // seconds
constexpr const char* timeout_variable = "RULEMILL_RANK_TIMEOUT";

/// The address at which a rank listens for its children.
struct Address {
  std::array<char, 64> host{};
  std::uint16_t port = 0;  // 0: the rank does not listen
  std::uint32_t count = 0;
  std::array<in_addr, 16> addresses{};
};

/// A child's first message to its parent.
struct Greeting {
  std::uint64_t token = 0;
  std::int32_t rank = 0;
};

struct Message {
  enum class Kind : std::uint8_t { Heartbeat, Goodbye, LostRank, Abort };
  Kind kind = Kind::Heartbeat;
  std::int32_t number = 0;  // LostRank: the rank; Abort: the exit code
};

class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

bool is_ready(int descriptor, short events, milliseconds timeout) {
  pollfd one{descriptor, events, 0};
  return ::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(0, timeout.count()))) > 0;
}

template <class T>
bool read_all(int descriptor, T& value, milliseconds timeout) {
  auto* at = reinterpret_cast<char*>(&value);
  for (std::size_t left = sizeof value; left > 0;) {
    if (!is_ready(descriptor, POLLIN, timeout)) return false;
    const ssize_t got = ::recv(descriptor, at, left, MSG_DONTWAIT);
    if (got <= 0) return false;
    at += got;
    left -= static_cast<std::size_t>(got);
  }
  return true;
}

template <class T>
bool write_all(int descriptor, const T& value) {
  return ::send(descriptor, &value, sizeof value, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof value);
}

/// Listens on any port of all interfaces and fills in `own`.
Socket start_listening(Address& own) {
  Socket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t size = sizeof any;
  auto* plain = reinterpret_cast<sockaddr*>(&any);
  if (!listener || ::bind(listener.get(), plain, size) != 0 || ::listen(listener.get(), max_children) != 0 ||
      ::getsockname(listener.get(), plain, &size) != 0) {
    return Socket();
  }
  own.port = any.sin_port;
  ifaddrs* interfaces = nullptr;
  if (::getifaddrs(&interfaces) != 0) return listener;
  for (const ifaddrs* each = interfaces; each != nullptr && own.count < own.addresses.size(); each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    const in_addr address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
    if (address.s_addr != htonl(INADDR_LOOPBACK)) own.addresses[own.count++] = address;
  }
  ::freeifaddrs(interfaces);
  return listener;
}

Socket connect_to(in_addr address, std::uint16_t port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = port;
  to.sin_addr = address;
  if (!socket) return socket;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    if (errno != EINPROGRESS || !is_ready(socket.get(), POLLOUT, connect_timeout)) return Socket();
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? std::move(socket) : Socket();
}

/// A failed node closes no connections; keep-alive probes detect it after about a minute.
void enable_keep_alive(int descriptor) {
  const int on = 1, idle = 30, interval = 10, probes = 3;
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

/// The seconds without a heartbeat after which a rank is lost.
std::chrono::seconds heartbeat_timeout() {
  const char* text = std::getenv(timeout_variable);
  if (text == nullptr) return std::chrono::seconds(default_timeout);
  int seconds = 0;
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, seconds);
  if (parsed.ec != std::errc() || parsed.ptr != end || seconds < 1 || seconds > 86'400)
    throw UsageError(timeout_variable, "expected seconds from 1 to 86400, found '" + std::string(text) + "'");
  return std::chrono::seconds(seconds);
}

}  // namespace

struct FailureDetector::Impl {
  struct Link {
    int rank = 0;
    Socket socket;
    int missed = 0;  // heartbeats
  };
  const std::chrono::seconds timeout = heartbeat_timeout();
  std::mutex mutex;  // guards the links
  std::vector<Link> links;
  bool aborting = false;            // this rank ends the others, whose connections then close
  Socket stop_writer, stop_reader;  // writing to the first ends the thread
  std::thread thread;

  void connect(const Communicator& world);
  /// The thread's loop.
  void watch();
  /// Sends to all links except that of one rank.
  void forward(Message message, int except) {
    for (const Link& link : links) {
      if (link.rank != except) write_all(link.socket.get(), message);
    }
  }
  /// Handles a message or a closed connection. Returns whether to keep the link.
  bool receive(Link& link);
  /// Sends a heartbeat to all links, and counts the heartbeats that they missed.
  void beat();
  /// Ends this process, and with it all ranks.
  [[noreturn]] void end(Message message, int from);
};

void FailureDetector::Impl::connect(const Communicator& world) {
  std::uint64_t token = 0;
  if (world.is_root()) token = std::uint64_t{std::random_device()()} << 32 | std::random_device()();
  Bytes shared = copy_bytes(bytes_of(std::span(&token, 1)));
  world.broadcast(shared);
  std::memcpy(&token, shared.data(), sizeof token);

  const int rank = world.rank(), first_child = rank * max_children + 1;
  const int children = std::clamp(world.size() - first_child, 0, max_children);
  Address own;
  ::gethostname(own.host.data(), own.host.size() - 1);
  Socket listener;
  if (children > 0) listener = start_listening(own);
  const std::vector<Bytes> all_addresses = world.all_gather(bytes_of(std::span(&own, 1)));
  if (rank > 0) {
    Address address;
    const int parent_rank = (rank - 1) / max_children;
    std::memcpy(&address, all_addresses[static_cast<std::size_t>(parent_rank)].data(), sizeof address);
    Socket parent;
    if (address.port != 0 && address.host == own.host) parent = connect_to({htonl(INADDR_LOOPBACK)}, address.port);
    for (std::uint32_t i = 0; i < address.count && address.port != 0 && !parent; ++i) {
      parent = connect_to(address.addresses[i], address.port);
    }
    if (parent && write_all(parent.get(), Greeting{token, rank})) links.push_back({parent_rank, std::move(parent)});
  }
  const auto deadline = steady_clock::now() + accept_timeout;
  const auto time_left = [&] { return std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()); };
  for (int connected = 0; listener && connected < children && is_ready(listener.get(), POLLIN, time_left());) {
    Socket child(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    Greeting greeting;
    if (!child || !read_all(child.get(), greeting, connect_timeout) || greeting.token != token) continue;
    links.push_back({greeting.rank, std::move(child)});
    ++connected;
  }
  for (const Link& link : links) enable_keep_alive(link.socket.get());
}

void FailureDetector::Impl::end(Message message, int from) {
  forward(message, from);
  // The main thread may wait forever in MPI, so that no cleanup is possible.
  ::_exit(message.kind == Message::Kind::Abort ? message.number : lost_rank_exit_code);
}

bool FailureDetector::Impl::receive(Link& link) {
  link.missed = 0;
  Message message;
  if (!read_all(link.socket.get(), message, milliseconds(0))) message = {Message::Kind::LostRank, link.rank};
  if (aborting || message.kind == Message::Kind::Goodbye) return false;
  if (message.kind == Message::Kind::Heartbeat) return true;
  const bool is_first_witness = message.kind == Message::Kind::LostRank && message.number == link.rank;
  if (is_first_witness) {
    std::fprintf(stderr, "rulemill: rank %d is lost; run the same command again to continue\n", message.number);
  }
  end(message, link.rank);
}

void FailureDetector::Impl::beat() {
  forward({Message::Kind::Heartbeat, 0}, -1);
  if (aborting) return;
  for (Link& link : links) {
    // The heartbeats of a time in which this process was stopped, too, have been received before.
    if (++link.missed <= heartbeats_per_timeout) continue;
    std::fprintf(stderr, "rulemill: rank %d has not responded for %d s; run the same command again to continue\n",
                 link.rank, static_cast<int>(timeout.count()));
    end({Message::Kind::LostRank, link.rank}, link.rank);
  }
}

void FailureDetector::Impl::watch() {
  const milliseconds interval = milliseconds(timeout) / heartbeats_per_timeout;
  auto next_beat = steady_clock::now() + interval;
  for (;;) {
    std::vector<pollfd> descriptors;
    for (const Link& link : links) descriptors.push_back({link.socket.get(), POLLIN, 0});
    descriptors.push_back({stop_reader.get(), POLLIN, 0});
    const auto wait = std::chrono::ceil<milliseconds>(next_beat - steady_clock::now());
    const int ready =
        ::poll(descriptors.data(), descriptors.size(), static_cast<int>(std::max<std::int64_t>(0, wait.count())));
    if (ready < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (descriptors.back().revents != 0) return;
    const std::lock_guard lock(mutex);
    std::size_t at = 0;
    std::erase_if(links, [&](Link& link) { return descriptors[at++].revents != 0 && !receive(link); });
    if (ready > 0 || steady_clock::now() < next_beat) continue;  // messages are received before heartbeats are counted
    beat();
    next_beat = steady_clock::now() + interval;
  }
}

FailureDetector::FailureDetector(const Communicator& world) : impl_(std::make_unique<Impl>()) {
  impl_->connect(world);
  const auto expected = static_cast<std::uint64_t>(world.size() - 1);
  const std::uint64_t connected = world.sum(std::uint64_t{impl_->links.size()}) / 2;
  if (connected < expected && world.is_root()) {
    spdlog::info("{} of {} connections between ranks: only the launcher can detect some lost ranks", connected,
                 expected);
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  impl_->stop_reader = Socket(ends[0]);
  impl_->stop_writer = Socket(ends[1]);
  // The main thread handles signals.
  sigset_t every, before;
  ::sigfillset(&every);
  ::pthread_sigmask(SIG_SETMASK, &every, &before);
  impl_->thread = std::thread([impl = impl_.get()] { impl->watch(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

FailureDetector::~FailureDetector() {
  if (impl_->thread.joinable()) {
    const char any = 0;
    [[maybe_unused]] const ssize_t written = ::write(impl_->stop_writer.get(), &any, 1);
    impl_->thread.join();
  }
  impl_->forward({Message::Kind::Goodbye, 0}, -1);
}

void FailureDetector::abort_peers(int exit_code) {
  const std::lock_guard lock(impl_->mutex);
  impl_->aborting = true;
  impl_->forward({Message::Kind::Abort, exit_code}, -1);
}

}  // namespace rulemill::runtime
