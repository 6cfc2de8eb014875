// The CPU takes over wherever a GPU fails, with the same results.
#include <catch2/catch.hpp>

#include "enumerate/profile/profile_reader.h"
#include "execute/gpu/emulated_backend.h"
#include "fingerprint/level_runner.h"
#include "tests/shipped_operators.h"

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

using execute::Fingerprint;
using execute::GpuBackend;
using execute::GpuError;

/// A GPU backend whose n-th call fails.
class FailingBackend final : public GpuBackend {
 public:
  explicit FailingBackend(int good_calls) : good_calls_(good_calls), backend_(execute::emulated_backend()) {}
  std::string name() const override { return "broken"; }
  Memory allocate(std::uint64_t bytes) override { return call()->allocate(bytes); }
  Memory allocate_pinned(std::uint64_t bytes) override { return call()->allocate_pinned(bytes); }
  void write(std::byte* to, const std::byte* from, std::uint64_t bytes) override { call()->write(to, from, bytes); }
  std::unique_ptr<execute::GpuStream> create_stream() override;
  std::uint32_t max_resident_blocks() const override { return backend_->max_resident_blocks(); }
  execute::BatchLimits batch_limits() const override { return backend_->batch_limits(); }

  GpuBackend* call() {
    if (good_calls_-- <= 0) throw GpuError("gpu", "out of memory");
    return backend_.get();
  }

 private:
  int good_calls_;
  std::unique_ptr<GpuBackend> backend_;
};

class FailingStream final : public execute::GpuStream {
 public:
  explicit FailingStream(FailingBackend& backend) : backend_(backend), stream_(backend.call()->create_stream()) {}
  void upload(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    backend_.call();
    stream_->upload(to, from, bytes);
  }
  void run(const execute::OrbitView& view) override {
    backend_.call();
    stream_->run(view);
  }
  void download(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    backend_.call();
    stream_->download(to, from, bytes);
  }
  void wait() override {
    backend_.call();
    stream_->wait();
  }

 private:
  FailingBackend& backend_;
  std::unique_ptr<execute::GpuStream> stream_;
};

std::unique_ptr<execute::GpuStream> FailingBackend::create_stream() { return std::make_unique<FailingStream>(*this); }

}  // namespace

TEST_CASE("the CPU takes over when a GPU fails") {
  algebra::Library library = shipped_operators();
  const auto profile = enumerate::parse_profile(tiny, "tiny.toml", library);
  const auto run = [&](const LevelRunner::Options& options, std::string* backend, bool* failed) {
    LevelRunner runner(profile, library, options);
    runner.prepare(3);
    EvaluatedRows rows;
    rows.resize(0, runner.statistics().back().rows, runner.enumerator().arity_stride());
    runner.evaluate(0, runner.statistics().back().rows, rows);
    if (backend != nullptr) *backend = runner.backend();
    if (failed != nullptr) *failed = runner.gpu_failed();
    std::vector<Fingerprint> fingerprints;
    for (const OrbitFingerprint& fingerprint : runner.fingerprints()) fingerprints.push_back(fingerprint.minimum);
    for (const OrbitFingerprint& fingerprint : rows.fingerprints) fingerprints.push_back(fingerprint.minimum);
    return fingerprints;
  };
  LevelRunner::Options options;
  options.device = DeviceChoice::Cpu;
  const std::vector<Fingerprint> expected = run(options, nullptr, nullptr);
  REQUIRE(expected.size() > 50);
  options.device = DeviceChoice::Auto;
  bool succeeded = false;
  for (int good_calls = -1; !succeeded; ++good_calls) {
    INFO("fails after " << good_calls << " calls");
    REQUIRE(good_calls < 1000);
    options.open_gpu_backend = [&]() -> std::unique_ptr<GpuBackend> {
      if (good_calls < 0) throw GpuError("gpu", "gone");
      return std::make_unique<FailingBackend>(good_calls);
    };
    std::string backend;
    bool failed = false;
    CHECK(run(options, &backend, &failed) == expected);
    CHECK(backend.starts_with(good_calls < 3 ? "cpu" : ""));
    succeeded = !failed;
  }
}

}  // namespace rulemill::fingerprint
