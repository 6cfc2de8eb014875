#include "execute/gpu/emulated_backend.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "execute/gpu/orbit_body.h"

namespace rulemill::execute {
namespace {

/// More than one, so that tests cover blocks that share the tiles.
constexpr std::uint32_t emulated_blocks = 3;

class EmulatedBlock {
 public:
  explicit EmulatedBlock(std::uint32_t index) : index_(index) {}
  std::uint32_t index() const { return index_; }
  static std::uint32_t count() { return emulated_blocks; }
  template <class Body>
  void each(const Body& body) const {
    for (std::uint32_t thread = 0; thread < threads_per_block; ++thread) body(thread);
  }
  static std::uint32_t add(std::uint32_t& to, std::uint32_t amount) {
    const std::uint32_t before = to;
    to += amount;
    return before;
  }

 private:
  std::uint32_t index_;
};

/// Executes each operation immediately.
class EmulatedStream final : public GpuStream {
 public:
  void upload(std::byte* to, const std::byte* from, std::uint64_t bytes) override { std::memcpy(to, from, bytes); }
  void run(const OrbitView& view) override {
    shared_.resize(SharedMemoryLayout::of(view.max_arguments).bytes / sizeof(std::uint64_t) + 1);
    for (std::uint32_t b = 0; b < emulated_blocks; ++b) {
      EmulatedBlock block(b);
      run_tiles(block, view, reinterpret_cast<unsigned char*>(shared_.data()));
    }
  }
  void download(std::byte* to, const std::byte* from, std::uint64_t bytes) override { std::memcpy(to, from, bytes); }
  void wait() override {}

 private:
  std::vector<std::uint64_t> shared_;
};

class EmulatedBackend final : public GpuBackend {
 public:
  explicit EmulatedBackend(const BatchLimits& limits) : limits_(limits) {}
  std::string name() const override { return "emulated gpu"; }
  Memory allocate(std::uint64_t bytes) override {
    auto* pointer = static_cast<std::byte*>(std::aligned_alloc(64, (bytes / 64 + 1) * 64));
    if (pointer == nullptr) throw GpuError("device", "no memory");
    return {pointer, [](std::byte* memory) { std::free(memory); }};
  }
  Memory allocate_pinned(std::uint64_t bytes) override { return allocate(bytes); }
  void write(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  std::unique_ptr<GpuStream> create_stream() override { return std::make_unique<EmulatedStream>(); }
  std::uint32_t max_resident_blocks() const override { return emulated_blocks; }
  BatchLimits batch_limits() const override { return limits_; }

 private:
  BatchLimits limits_;
};

}  // namespace

std::unique_ptr<GpuBackend> emulated_backend(const BatchLimits& limits) {
  return std::make_unique<EmulatedBackend>(limits);
}

}  // namespace rulemill::execute
