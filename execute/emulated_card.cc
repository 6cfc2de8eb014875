#include "execute/emulated_card.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "execute/orbit_body.h"

namespace rulemill::execute {
namespace {

/// As many as show that blocks share the pieces.
constexpr std::uint32_t emulated_blocks = 3;

class EmulatedBlock {
 public:
  explicit EmulatedBlock(std::uint32_t index) : index_(index) {}
  std::uint32_t index() const { return index_; }
  static std::uint32_t count() { return emulated_blocks; }
  template <class Body>
  void each(const Body& body) const {
    for (std::uint32_t thread = 0; thread < threads_a_block; ++thread) body(thread);
  }
  static std::uint32_t add(std::uint32_t& to, std::uint32_t more) {
    const std::uint32_t before = to;
    to += more;
    return before;
  }

 private:
  std::uint32_t index_;
};

/// What is queued is done at once.
class EmulatedQueue final : public CardQueue {
 public:
  void upload(std::byte* to, const std::byte* from, std::uint64_t bytes) override { std::memcpy(to, from, bytes); }
  void run(const OrbitView& view) override {
    shared_.resize(SharedLayout::of(view.most_arguments).bytes / sizeof(std::uint64_t) + 1);
    for (std::uint32_t b = 0; b < emulated_blocks; ++b) {
      EmulatedBlock block(b);
      run_pieces(block, view, reinterpret_cast<unsigned char*>(shared_.data()));
    }
  }
  void download(std::byte* to, const std::byte* from, std::uint64_t bytes) override { std::memcpy(to, from, bytes); }
  void wait() override {}

 private:
  std::vector<std::uint64_t> shared_;
};

class EmulatedCard final : public Card {
 public:
  explicit EmulatedCard(const BatchLimits& limits) : limits_(limits) {}
  std::string name() const override { return "emulated gpu"; }
  Memory memory(std::uint64_t bytes) override {
    auto* made = static_cast<std::byte*>(std::aligned_alloc(64, (bytes / 64 + 1) * 64));
    if (made == nullptr) throw DeviceError("device", "no memory");
    return {made, [](std::byte* memory) { std::free(memory); }};
  }
  Memory pinned(std::uint64_t bytes) override { return memory(bytes); }
  void write(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  std::unique_ptr<CardQueue> queue() override { return std::make_unique<EmulatedQueue>(); }
  std::uint32_t blocks() const override { return emulated_blocks; }
  BatchLimits limits() const override { return limits_; }

 private:
  BatchLimits limits_;
};

}  // namespace

std::unique_ptr<Card> emulated_card(const BatchLimits& limits) { return std::make_unique<EmulatedCard>(limits); }

}  // namespace rulemill::execute
