#include "runtime/peer_watch.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/communicator.h"

namespace rulemill::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int children_each = 16;
constexpr milliseconds patience{5000};  // for all children to connect
constexpr milliseconds try_each{1000};  // for one address of the parent
constexpr int lost_exit_code = 4;       // what Interrupted has: the same command goes on
enum class Word : std::uint8_t { Goodbye, Lost, End };

/// What a rank says of itself, so that its children find it, and what a child says first.
struct Address {
  std::array<char, 64> host{};
  std::uint16_t port = 0;  // 0: it does not listen
  std::uint32_t count = 0;
  std::array<in_addr, 16> addresses{};
};
struct Greeting {
  std::uint64_t token = 0;
  std::int32_t rank = 0;
};
struct Message {
  Word word = Word::Goodbye;
  std::int32_t number = 0;  // the rank that is lost, or the exit code
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

bool ready(int descriptor, short events, milliseconds wait) {
  pollfd one{descriptor, events, 0};
  return ::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(0, wait.count()))) > 0;
}

template <class T>
bool read_all(int descriptor, T& value, milliseconds wait) {
  auto* at = reinterpret_cast<char*>(&value);
  for (std::size_t left = sizeof value; left > 0;) {
    if (!ready(descriptor, POLLIN, wait)) return false;
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

Socket listen_anywhere(Address& own) {
  Socket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t size = sizeof any;
  auto* plain = reinterpret_cast<sockaddr*>(&any);
  if (!listener || ::bind(listener.get(), plain, size) != 0 || ::listen(listener.get(), children_each) != 0 ||
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
    if (errno != EINPROGRESS || !ready(socket.get(), POLLOUT, try_each)) return Socket();
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? std::move(socket) : Socket();
}

/// A node without power sends nothing: the kernel asks after half a minute.
void keep_alive(int descriptor) {
  const int on = 1, idle = 30, interval = 10, probes = 3;
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

}  // namespace

struct PeerWatch::Links {
  struct Link {
    int rank = 0;
    Socket socket;
  };
  std::mutex mutex;  // guards the links against a good-bye from the other thread
  std::vector<Link> all;
  bool ending = false;   // this rank ends the others, who go one after the other
  Socket wake, sleeper;  // what is written to the first ends the thread
  std::thread thread;

  void connect(const Communicator& world);
  void watch();
  /// To all but one rank.
  void tell(Message message, int except) {
    for (const Link& link : all) {
      if (link.rank != except) write_all(link.socket.get(), message);
    }
  }
  /// Whether the link goes on.
  bool hear(const Link& link);
};

void PeerWatch::Links::connect(const Communicator& world) {
  std::uint64_t token = 0;
  if (world.is_root()) token = std::uint64_t{std::random_device()()} << 32 | std::random_device()();
  Bytes shared = copy_bytes(bytes_of(std::span(&token, 1)));
  world.broadcast(shared);
  std::memcpy(&token, shared.data(), sizeof token);

  const int rank = world.rank(), first_child = rank * children_each + 1;
  const int children = std::clamp(world.size() - first_child, 0, children_each);
  Address own;
  ::gethostname(own.host.data(), own.host.size() - 1);
  Socket listener;
  if (children > 0) listener = listen_anywhere(own);
  const std::vector<Bytes> everybody = world.all_gather(bytes_of(std::span(&own, 1)));
  if (rank > 0) {
    Address parent;
    const int parent_rank = (rank - 1) / children_each;
    std::memcpy(&parent, everybody[static_cast<std::size_t>(parent_rank)].data(), sizeof parent);
    Socket up;
    if (parent.port != 0 && parent.host == own.host) up = connect_to({htonl(INADDR_LOOPBACK)}, parent.port);
    for (std::uint32_t i = 0; i < parent.count && parent.port != 0 && !up; ++i) {
      up = connect_to(parent.addresses[i], parent.port);
    }
    if (up && write_all(up.get(), Greeting{token, rank})) all.push_back({parent_rank, std::move(up)});
  }
  const auto deadline = steady_clock::now() + patience;
  const auto left = [&] { return std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()); };
  for (int greeted = 0; listener && greeted < children && ready(listener.get(), POLLIN, left());) {
    Socket down(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    Greeting greeting;
    if (!down || !read_all(down.get(), greeting, try_each) || greeting.token != token) continue;
    all.push_back({greeting.rank, std::move(down)});
    ++greeted;
  }
  for (const Link& link : all) keep_alive(link.socket.get());
}

bool PeerWatch::Links::hear(const Link& link) {
  Message message;
  if (!read_all(link.socket.get(), message, milliseconds(0))) message = {Word::Lost, link.rank};
  if (ending || message.word == Word::Goodbye) return false;
  const bool first = message.word == Word::Lost && message.number == link.rank;
  if (first) {
    std::fprintf(stderr, "rulemill: rank %d is lost; run the same command again to continue\n", message.number);
  }
  tell(message, link.rank);
  // The other thread may wait for ever in MPI: nothing can be tidied up.
  ::_exit(message.word == Word::End ? message.number : lost_exit_code);
}

void PeerWatch::Links::watch() {
  for (;;) {
    std::vector<pollfd> descriptors;
    for (const Link& link : all) descriptors.push_back({link.socket.get(), POLLIN, 0});
    descriptors.push_back({sleeper.get(), POLLIN, 0});
    if (::poll(descriptors.data(), descriptors.size(), -1) < 0 && errno != EINTR) return;
    if (descriptors.back().revents != 0) return;
    const std::lock_guard lock(mutex);
    std::size_t at = 0;
    std::erase_if(all, [&](const Link& link) { return descriptors[at++].revents != 0 && !hear(link); });
  }
}

PeerWatch::PeerWatch(const Communicator& world) : links_(std::make_unique<Links>()) {
  links_->connect(world);
  const auto wanted = static_cast<std::uint64_t>(world.size() - 1);
  const std::uint64_t there = world.sum(std::uint64_t{links_->all.size()}) / 2;
  if (there < wanted && world.is_root()) {
    spdlog::info("{} of {} links between ranks: a lost rank is noticed by the launcher alone", there, wanted);
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  links_->sleeper = Socket(ends[0]);
  links_->wake = Socket(ends[1]);
  // Signals are for the thread that works.
  sigset_t every, before;
  ::sigfillset(&every);
  ::pthread_sigmask(SIG_SETMASK, &every, &before);
  links_->thread = std::thread([links = links_.get()] { links->watch(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

PeerWatch::~PeerWatch() {
  if (links_->thread.joinable()) {
    const char any = 0;
    [[maybe_unused]] const ssize_t written = ::write(links_->wake.get(), &any, 1);
    links_->thread.join();
  }
  links_->tell({Word::Goodbye, 0}, -1);
}

void PeerWatch::end_others(int exit_code) {
  const std::lock_guard lock(links_->mutex);
  links_->ending = true;
  links_->tell({Word::End, exit_code}, -1);
}

std::size_t PeerWatch::links() const { return links_->all.size(); }

}  // namespace rulemill::runtime
