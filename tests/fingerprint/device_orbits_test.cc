// The device's arrangement, run by the CPU, against the ordinary evaluator: the same rows, to the last bit.
#include "fingerprint/device_orbits.h"

#include <catch2/catch.hpp>

#include "execute/emulated_card.h"
#include "fingerprint/level_runner.h"

namespace rulemill::fingerprint {
namespace {

/// Variables of two sorts and one alone; operators that are commutative or not, of one to three arguments, of two
/// outputs, with maxima, and with values on the way.
constexpr const char* varied = R"(
name = "varied"
seed = 7
max_ops = 3
max_elements = 64
[[variables]]
names = ["x", "y", "z"]
shape = [2, 4]
[[variables]]
names = ["u", "v"]
shape = [4, 4]
[[variables]]
names = ["c"]
shape = [4]
[[variables]]
names = ["s"]
shape = []
[[operators]]
operator = "add"
ranks = [2]
[[operators]]
operator = "sub"
ranks = [2]
[[operators]]
operator = "matmul"
ranks = [2]
[[operators]]
operator = "relu"
ranks = [2]
[[operators]]
operator = "scale"
ranks = [0, 2]
[[operators]]
operator = "concat"
ranks = [2]
parameters = { axis = 0 }
[[operators]]
operator = "split"
ranks = [2]
parameters = { axis = 0 }
[[operators]]
operator = "softmax"
ranks = [2]
[[operators]]
operator = "max_kept"
ranks = [2]
parameters = { axes = [[1]] }
[[operators]]
operator = "gemm"
)";

/// As one sort has as many names: 5! of them do not fit a piece, and a list is longer than a warp.
constexpr const char* many_names = R"(
name = "many names"
seed = 7
max_ops = 3
max_elements = 64
[[variables]]
names = ["a", "b", "c", "d", "e", "f"]
shape = [3]
[[operators]]
operator = "add"
ranks = [1]
[[operators]]
operator = "sub"
ranks = [1]
)";

/// Lanes and batches so small that every case of a batch's end occurs.
constexpr execute::BatchLimits small_batches{
    .items = 2048, .upload_bytes = 1 << 20, .download_bytes = 1 << 16, .work_bytes = 1 << 20};

struct Evaluated {
  RowRange rows;
  std::uint64_t products = 0;
  execute::DeviceCounts counts;
};

class World {
 public:
  explicit World(const char* profile)
      : library_(algebra::Library::load("data/operators")),
        profile_(enumerate::Profile::parse(profile, "test.toml", library_)) {}

  Evaluated evaluate(std::uint32_t levels, LevelRunner::Options options, const execute::BatchLimits* limits) {
    options.device = limits == nullptr ? DeviceChoice::Cpu : DeviceChoice::Emulated;
    if (limits != nullptr) options.open_card = [limits] { return execute::emulated_card(*limits); };
    LevelRunner runner(profile_, library_, options);
    runner.prepare(levels);
    Evaluated made;
    const std::uint64_t count = runner.figures().back().rows;
    made.rows.resize(0, count, runner.enumerator().arity_stride());
    made.products = runner.evaluate(0, count, made.rows);
    CHECK_FALSE(runner.device_failed());
    made.counts = runner.device_counts();
    return made;
  }

 private:
  algebra::Library library_;
  enumerate::Profile profile_;
};

void check_equal(const Evaluated& device, const Evaluated& cpu) {
  CHECK(device.rows.signatures == cpu.rows.signatures);
  CHECK(device.rows.arguments == cpu.rows.arguments);
  CHECK(device.rows.images == cpu.rows.images);
  CHECK(device.products == cpu.products);
  REQUIRE(device.rows.prints.size() == cpu.rows.prints.size());
  for (std::size_t row = 0; row < cpu.rows.prints.size(); ++row) {
    const OrbitPrint &a = device.rows.prints[row], &b = cpu.rows.prints[row];
    const bool same =
        a.print == b.print && a.renaming == b.renaming && a.values == b.values && a.symmetries == b.symmetries;
    if (!same) FAIL_CHECK("row " << row);
  }
}

}  // namespace

TEST_CASE("what a device finds of rows is equivalent to the evaluator's") {
  for (const char* profile : {varied, many_names}) {
    World world(profile);
    for (const std::uint32_t levels : {1u, 2u, 3u}) {
      INFO(profile << levels << " levels");
      const Evaluated cpu = world.evaluate(levels, {.threads = 1}, nullptr);
      check_equal(world.evaluate(levels, {.threads = 1}, &execute::gpu_limits), cpu);
      const Evaluated small = world.evaluate(levels, {.threads = 1}, &small_batches);
      check_equal(small, cpu);
      if (levels == 3) CHECK(small.counts.batches > 4);
    }
  }
}

TEST_CASE("a device tells terms of equal value apart, or takes no variables for each other, where it is asked to") {
  World world(varied);
  for (const bool all_terms : {false, true}) {
    const LevelRunner::Options options{.threads = 1, .all_terms = all_terms, .every_renaming = !all_terms};
    check_equal(world.evaluate(2, options, &small_batches), world.evaluate(2, options, nullptr));
  }
  check_equal(world.evaluate(3, {.threads = 1, .all_terms = true}, &small_batches),
              world.evaluate(3, {.threads = 1, .all_terms = true}, nullptr));
}

TEST_CASE("the bytes that go to a device and come back are those of its records") {
  World world(varied);
  const execute::DeviceCounts counts = world.evaluate(3, {.threads = 1}, &execute::gpu_limits).counts;
  CHECK(counts.uploaded_bytes == 64 * counts.pieces + 20 * counts.passing + 4 * counts.words + 2 * counts.names);
  CHECK(counts.downloaded_bytes == 40 * counts.minima);
  CHECK(counts.items > 2 * counts.minima);
}

}  // namespace rulemill::fingerprint
