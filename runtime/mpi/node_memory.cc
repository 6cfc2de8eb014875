#include "runtime/mpi/node_memory.h"

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

#include "runtime/process/descriptor.h"
#include "runtime/process/machine.h"
#include "runtime/text/error.h"
#include "runtime/text/quantity.h"

namespace rulemill::runtime {
namespace {

using Token = std::array<std::uint32_t, 4>;

/// The address of a memory file, which its creator broadcasts to the other ranks of the node.
struct Offer {
  pid_t process = 0;
  int descriptor = -1;     // of that process; -1: the file could not be created
  std::uint64_t size = 0;  // in whole pages, including the token after the requested bytes
  Token token{};           // detects a different process of the same number, as seen from inside another container
};

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

std::byte* map(std::size_t size, int flags, int descriptor) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

/// Creates a memory file of this size with all pages allocated. On failure, returns -1 and the reason.
int create_file(std::size_t size, std::string& reason) {
  // Allocating beyond this limit would end the process by a signal.
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size) {
    reason = "files are limited to " + format_bytes(limit.rlim_cur) + " (ulimit -f)";
    return -1;
  }
  const int file = ::memfd_create("rulemill", MFD_CLOEXEC);
  int error = file < 0 ? errno : EINTR;
  while (file >= 0 && error == EINTR) error = ::fallocate(file, 0, 0, static_cast<off_t>(size)) == 0 ? 0 : errno;
  if (error == 0) return file;
  reason = std::strerror(error);
  if (file >= 0) ::close(file);
  return -1;
}

Offer broadcast(const Offer& offer, const Communicator& node) {
  Bytes bytes = copy_bytes(bytes_of(std::span(&offer, 1)));
  node.broadcast(bytes);
  return values_of<Offer>(bytes).at(0);
}

/// Maps the memory that the node's first rank creates. On failure, returns null and the reason.
std::byte* map_node_file(std::size_t bytes, const Communicator& node, std::string& reason) {
  Offer offer;
  offer.size = whole_pages(bytes + sizeof(Token));
  const Descriptor created(node.is_root() ? create_file(offer.size, reason) : -1);
  if (node.is_root()) {
    offer.process = ::getpid();
    offer.descriptor = created.get();
    std::random_device random;
    for (std::uint32_t& word : offer.token) word = random();
  }
  std::byte* memory = nullptr;
  if (created.is_valid()) {
    memory = map(offer.size, MAP_SHARED, created.get());
    if (memory == nullptr)
      reason = std::strerror(errno);
    else
      std::memcpy(memory + offer.size - sizeof(Token), &offer.token, sizeof(Token));
  }
  offer = broadcast(offer, node);
  if (!node.is_root() && offer.descriptor >= 0) {
    const std::string name = "/proc/" + std::to_string(offer.process) + "/fd/" + std::to_string(offer.descriptor);
    const Descriptor opened(::open(name.c_str(), O_RDWR | O_CLOEXEC));
    struct stat found {};
    const bool fits = opened.is_valid() && ::fstat(opened.get(), &found) == 0 && S_ISREG(found.st_mode) &&
                      static_cast<std::uint64_t>(found.st_size) == offer.size;
    if (fits) memory = map(offer.size, MAP_SHARED, opened.get());
    if (memory == nullptr) {
      reason = name + ": " + (!opened.is_valid() || fits ? std::strerror(errno) : "is another file");
    }
    if (memory != nullptr && std::memcmp(memory + offer.size - sizeof(Token), &offer.token, sizeof(Token)) != 0) {
      ::munmap(memory, offer.size);
      memory = nullptr;
      reason = name + ": is another rank's";
    }
  }
  node.barrier();  // until all ranks have opened the file
  return memory;
}

/// Collective. Returns the first rank's non-empty reason on the root.
std::string first_reason(const std::string& own, const Communicator& communicator) {
  for (const Bytes& text : communicator.gather(bytes_of(own))) {
    if (!text.empty()) return std::string(text_of(text));
  }
  return own;
}

}  // namespace

NodeMemory::NodeMemory(std::size_t bytes, const Communicator& communicator) {
  if (bytes == 0) return;
  if (communicator.any(communicator.node().size() > 1)) map_shared(bytes, communicator);
  if (!shared_) map_private(bytes);
}

NodeMemory::~NodeMemory() {
  if (memory_ != nullptr) ::munmap(memory_, mapped_);
}

void NodeMemory::map_shared(std::size_t bytes, const Communicator& communicator) {
  std::string reason;
  memory_ = map_node_file(bytes, communicator.node(), reason);
  mapped_ = whole_pages(bytes + sizeof(Token));
  shared_ = !communicator.any(memory_ == nullptr);
  if (shared_) return;
  if (memory_ != nullptr) ::munmap(std::exchange(memory_, nullptr), mapped_);
  reason = first_reason(reason, communicator);
  if (communicator.is_root()) spdlog::warn("ranks of a node cannot share memory ({}); each has its own", reason);
}

void NodeMemory::map_private(std::size_t bytes) {
  mapped_ = whole_pages(bytes);
  memory_ = map(mapped_, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (memory_ == nullptr)
    throw Error("memory", "cannot allocate " + format_bytes(bytes) + "; memory: " + describe_memory());
}

}  // namespace rulemill::runtime
