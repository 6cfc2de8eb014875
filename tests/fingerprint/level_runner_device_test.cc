// A device that fails, wherever it does: the CPU does its work, with the same results.
#include <catch2/catch.hpp>

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

enum class Fails { Opening, Values, FirstPrograms, LastPrograms, Runner };

using execute::Device;
using execute::DeviceError;
using execute::Fingerprint;
using execute::Pair;

class BrokenDevice final : public Device {
 public:
  explicit BrokenDevice(Fails fails) : fails_(fails) {}
  void add_values(const execute::ValueStore&) override { fail_if(Fails::Values); }
  void add_programs(std::span<const execute::TypedProgram* const>) override {
    fail_if(calls_++ == 0 ? Fails::FirstPrograms : Fails::LastPrograms);
  }
  std::unique_ptr<execute::WaveRunner> runner() override { throw DeviceError("device", "no stream"); }
  std::string name() const override { return "broken"; }

 private:
  void fail_if(Fails where) const {
    if (fails_ == where) throw DeviceError("device", "out of memory");
  }
  Fails fails_;
  int calls_ = 0;
};

}  // namespace

TEST_CASE("the CPU does the work of a device that fails") {
  algebra::Library library = algebra::Library::load("data/operators");
  const auto profile = enumerate::Profile::parse(tiny, "tiny.toml", library);
  const auto fingerprints = [&](const LevelRunner::Options& options, std::string* backend) {
    LevelRunner runner(profile, library, options);
    runner.prepare(3);
    RowRange rows;
    rows.resize(0, runner.figures().back().rows, runner.enumerator().arity_stride());
    runner.evaluate(0, runner.figures().back().rows, rows);
    if (backend != nullptr) *backend = runner.backend();
    std::vector<Fingerprint> prints;
    for (const OrbitPrint& print : runner.prints()) prints.push_back(print.print);
    for (const OrbitPrint& print : rows.prints) prints.push_back(print.print);
    return prints;
  };
  LevelRunner::Options options;
  options.device = DeviceChoice::Cpu;
  const std::vector<Fingerprint> expected = fingerprints(options, nullptr);
  REQUIRE(expected.size() > 50);
  options.device = DeviceChoice::Auto;
  for (const Fails fails : {Fails::Opening, Fails::Values, Fails::FirstPrograms, Fails::LastPrograms, Fails::Runner}) {
    INFO("fails " << static_cast<int>(fails));
    options.open_device = [&](std::span<const Pair>) -> std::unique_ptr<Device> {
      if (fails == Fails::Opening) throw DeviceError("device", "gone");
      return std::make_unique<BrokenDevice>(fails);
    };
    std::string backend;
    CHECK(fingerprints(options, &backend) == expected);
    if (fails != Fails::Runner) CHECK(backend.starts_with("cpu"));
  }
}

}  // namespace rulemill::fingerprint
