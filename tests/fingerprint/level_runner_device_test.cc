// A device that fails, wherever it does: the CPU does its work, with the same results.
#include <catch2/catch.hpp>

#include "execute/emulated_card.h"
#include "fingerprint/level_runner.h"

namespace rulemill::fingerprint {
namespace {

constexpr const char* tiny = R"(
name = "tiny"
seed = 5
max_ops = 3
max_elements = 16
[[variables]]
names = ["x", "y"]
shape = [2, 2]
[[operators]]
operator = "add"
[[operators]]
operator = "relu"
)";

using execute::Card;
using execute::DeviceError;
using execute::Fingerprint;

/// A card that fails at its n-th call.
class BrokenCard final : public Card {
 public:
  explicit BrokenCard(int good_calls) : good_calls_(good_calls), card_(execute::emulated_card()) {}
  std::string name() const override { return "broken"; }
  Memory memory(std::uint64_t bytes) override { return call()->memory(bytes); }
  Memory pinned(std::uint64_t bytes) override { return call()->pinned(bytes); }
  void write(std::byte* to, const std::byte* from, std::uint64_t bytes) override { call()->write(to, from, bytes); }
  std::unique_ptr<execute::CardQueue> queue() override;
  std::uint32_t blocks() const override { return card_->blocks(); }
  execute::BatchLimits limits() const override { return card_->limits(); }

  Card* call() {
    if (good_calls_-- <= 0) throw DeviceError("device", "out of memory");
    return card_.get();
  }

 private:
  int good_calls_;
  std::unique_ptr<Card> card_;
};

class BrokenQueue final : public execute::CardQueue {
 public:
  explicit BrokenQueue(BrokenCard& card) : card_(card), queue_(card.call()->queue()) {}
  void upload(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    card_.call();
    queue_->upload(to, from, bytes);
  }
  void run(const execute::OrbitView& view) override {
    card_.call();
    queue_->run(view);
  }
  void download(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    card_.call();
    queue_->download(to, from, bytes);
  }
  void wait() override {
    card_.call();
    queue_->wait();
  }

 private:
  BrokenCard& card_;
  std::unique_ptr<execute::CardQueue> queue_;
};

std::unique_ptr<execute::CardQueue> BrokenCard::queue() { return std::make_unique<BrokenQueue>(*this); }

}  // namespace

TEST_CASE("the CPU does the work of a device that fails") {
  algebra::Library library = algebra::Library::load("data/operators");
  const auto profile = enumerate::Profile::parse(tiny, "tiny.toml", library);
  const auto fingerprints = [&](const LevelRunner::Options& options, std::string* backend, bool* failed) {
    LevelRunner runner(profile, library, options);
    runner.prepare(3);
    RowRange rows;
    rows.resize(0, runner.figures().back().rows, runner.enumerator().arity_stride());
    runner.evaluate(0, runner.figures().back().rows, rows);
    if (backend != nullptr) *backend = runner.backend();
    if (failed != nullptr) *failed = runner.device_failed();
    std::vector<Fingerprint> prints;
    for (const OrbitPrint& print : runner.prints()) prints.push_back(print.print);
    for (const OrbitPrint& print : rows.prints) prints.push_back(print.print);
    return prints;
  };
  LevelRunner::Options options;
  options.device = DeviceChoice::Cpu;
  const std::vector<Fingerprint> expected = fingerprints(options, nullptr, nullptr);
  REQUIRE(expected.size() > 50);
  options.device = DeviceChoice::Auto;
  bool whole = false;
  for (int good_calls = -1; !whole; ++good_calls) {
    INFO("fails after " << good_calls << " calls");
    REQUIRE(good_calls < 1000);
    options.open_card = [&]() -> std::unique_ptr<Card> {
      if (good_calls < 0) throw DeviceError("device", "gone");
      return std::make_unique<BrokenCard>(good_calls);
    };
    std::string backend;
    bool failed = false;
    CHECK(fingerprints(options, &backend, &failed) == expected);
    CHECK(backend.starts_with(good_calls < 3 ? "cpu" : ""));
    whole = !failed;
  }
}

}  // namespace rulemill::fingerprint
