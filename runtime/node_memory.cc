#include "runtime/node_memory.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <random>

#include "runtime/descriptor.h"
#include "runtime/error.h"
#include "runtime/machine.h"
#include "runtime/quantity.h"

namespace rulemill::runtime {
namespace {

using Token = std::array<std::uint32_t, 4>;

/// What the rank that makes the memory tells the others of its node.
struct Offer {
  pid_t process = 0;
  int descriptor = -1;     // of that process; -1: it could not make it
  std::uint64_t size = 0;  // in whole pages, with the token behind what was asked for
  Token token{};           // in a container of its own, a rank may see another process by that number
};

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

std::byte* map(std::size_t size, int flags, int descriptor) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

/// Makes a file in memory of this size, all of it there; otherwise says why not, and is -1.
int make_file(std::size_t size, std::string& why) {
  // A file above this limit would end the process by a signal.
  rlimit most{};
  if (::getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < size) {
    why = "files are limited to " + in_bytes(most.rlim_cur) + " (ulimit -f)";
    return -1;
  }
  const int made = ::memfd_create("rulemill", MFD_CLOEXEC);
  int failed = made < 0 ? errno : EINTR;
  while (made >= 0 && failed == EINTR) failed = ::fallocate(made, 0, 0, static_cast<off_t>(size)) == 0 ? 0 : errno;
  if (failed == 0) return made;
  why = std::strerror(failed);
  if (made >= 0) ::close(made);
  return -1;
}

Offer told(const Offer& own, const Communicator& node) {
  Bytes bytes = copy_bytes(bytes_of(std::span(&own, 1)));
  node.broadcast(bytes);
  return values_of<Offer>(bytes).at(0);
}

/// The memory that the node's first rank makes; null, with the reason, where that is not to be had.
std::byte* map_of_node(std::size_t bytes, const Communicator& node, std::string& why) {
  Offer offer;
  offer.size = whole_pages(bytes + sizeof(Token));
  const Descriptor made(node.is_root() ? make_file(offer.size, why) : -1);
  if (node.is_root()) {
    offer.process = ::getpid();
    offer.descriptor = made.get();
    std::random_device random;
    for (std::uint32_t& word : offer.token) word = random();
  }
  std::byte* memory = nullptr;
  if (made.get() >= 0) {
    memory = map(offer.size, MAP_SHARED, made.get());
    if (memory == nullptr)
      why = std::strerror(errno);
    else
      std::memcpy(memory + offer.size - sizeof(Token), &offer.token, sizeof(Token));
  }
  offer = told(offer, node);
  if (!node.is_root() && offer.descriptor >= 0) {
    const std::string name = "/proc/" + std::to_string(offer.process) + "/fd/" + std::to_string(offer.descriptor);
    const Descriptor opened(::open(name.c_str(), O_RDWR | O_CLOEXEC));
    struct stat found {};
    const bool fits = opened.get() >= 0 && ::fstat(opened.get(), &found) == 0 && S_ISREG(found.st_mode) &&
                      static_cast<std::uint64_t>(found.st_size) == offer.size;
    if (fits) memory = map(offer.size, MAP_SHARED, opened.get());
    if (memory == nullptr) why = name + ": " + (opened.get() < 0 || fits ? std::strerror(errno) : "is another file");
    if (memory != nullptr && std::memcmp(memory + offer.size - sizeof(Token), &offer.token, sizeof(Token)) != 0) {
      ::munmap(memory, offer.size);
      memory = nullptr;
      why = name + ": is another rank's";
    }
  }
  node.barrier();  // everybody has opened it
  return memory;
}

/// The first reason that a rank gives.
std::string first_reason(const std::string& own, const Communicator& communicator) {
  for (const Bytes& text : communicator.gather(bytes_of(own))) {
    if (!text.empty()) return std::string(text_of(text));
  }
  return own;
}

}  // namespace

NodeMemory::NodeMemory(std::size_t bytes, const Communicator& communicator) {
  if (bytes == 0) return;
  if (communicator.any(communicator.node().size() > 1)) share(bytes, communicator);
  if (!shared_) take_own(bytes);
}

NodeMemory::~NodeMemory() {
  if (memory_ != nullptr) ::munmap(memory_, mapped_);
}

void NodeMemory::share(std::size_t bytes, const Communicator& communicator) {
  std::string why;
  memory_ = map_of_node(bytes, communicator.node(), why);
  mapped_ = whole_pages(bytes + sizeof(Token));
  shared_ = !communicator.any(memory_ == nullptr);
  if (shared_) return;
  if (memory_ != nullptr) ::munmap(std::exchange(memory_, nullptr), mapped_);
  why = first_reason(why, communicator);
  if (communicator.is_root()) spdlog::warn("ranks of a node cannot share memory ({}); each has its own", why);
}

void NodeMemory::take_own(std::size_t bytes) {
  mapped_ = whole_pages(bytes);
  memory_ = map(mapped_, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (memory_ == nullptr)
    throw Error("memory", "cannot allocate " + in_bytes(bytes) + "; memory: " + memory_in_words());
}

}  // namespace rulemill::runtime
