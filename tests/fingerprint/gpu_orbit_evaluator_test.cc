// The GPU's algorithm, emulated on the CPU, against the CPU evaluator: bit-identical rows.
#include "fingerprint/gpu_orbit_evaluator.h"

#include <catch2/catch.hpp>

#include "enumerate/profile/profile_reader.h"
#include "execute/gpu/emulated_backend.h"
#include "fingerprint/level_runner.h"
#include "tests/shipped_operators.h"

namespace rulemill::fingerprint {
namespace {

/// Interchangeable and single variables; commutative and other operators, of one to three arguments, with two outputs,
/// with maxima and with intermediate values.
constexpr const char* mixed_profile = R"(
name = "mixed"
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
operator = "reduce_max_keepdims"
ranks = [2]
parameters = { axes = [[1]] }
[[operators]]
operator = "gemm"
)";

/// Many interchangeable variables: 5! renamings do not fit into a tile, and a list is longer than a warp.
constexpr const char* many_renamings = R"(
name = "many renamings"
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

/// Batches so small that they end in every possible way.
constexpr execute::BatchLimits small_batches{
    .items = 2048, .upload_bytes = 1 << 20, .download_bytes = 1 << 16, .work_bytes = 1 << 20};

struct Evaluated {
  EvaluatedRows rows;
  std::uint64_t products = 0;
  execute::GpuCounters counts;
};

class RowEvaluator {
 public:
  explicit RowEvaluator(const char* profile)
      : library_(shipped_operators()), profile_(enumerate::parse_profile(profile, "test.toml", library_)) {}

  Evaluated evaluate(std::uint32_t levels, LevelRunner::Options options, const execute::BatchLimits* limits) {
    options.device = limits == nullptr ? DeviceChoice::Cpu : DeviceChoice::Emulated;
    if (limits != nullptr) options.open_gpu_backend = [limits] { return execute::emulated_backend(*limits); };
    LevelRunner runner(profile_, library_, options);
    runner.prepare(levels);
    Evaluated result;
    const std::uint64_t count = runner.statistics().back().rows;
    result.rows.resize(0, count, runner.enumerator().arity_stride());
    result.products = runner.evaluate(0, count, result.rows);
    CHECK_FALSE(runner.gpu_failed());
    result.counts = runner.gpu_counters();
    return result;
  }

 private:
  algebra::Library library_;
  enumerate::Profile profile_;
};

void check_equal(const Evaluated& gpu, const Evaluated& cpu) {
  CHECK(gpu.rows.signatures == cpu.rows.signatures);
  CHECK(gpu.rows.arguments == cpu.rows.arguments);
  CHECK(gpu.rows.orbit_sizes == cpu.rows.orbit_sizes);
  CHECK(gpu.products == cpu.products);
  REQUIRE(gpu.rows.fingerprints.size() == cpu.rows.fingerprints.size());
  for (std::size_t row = 0; row < cpu.rows.fingerprints.size(); ++row) {
    const OrbitFingerprint &a = gpu.rows.fingerprints[row], &b = cpu.rows.fingerprints[row];
    const bool same = a.minimum == b.minimum && a.renaming == b.renaming && a.distinct_values == b.distinct_values &&
                      a.symmetries == b.symmetries;
    if (!same) FAIL_CHECK("row " << row);
  }
}

}  // namespace

TEST_CASE("rows evaluated on a GPU are equivalent to those of the CPU") {
  for (const char* profile : {mixed_profile, many_renamings}) {
    RowEvaluator evaluator(profile);
    for (const std::uint32_t levels : {1u, 2u, 3u}) {
      INFO(profile << levels << " levels");
      const Evaluated cpu = evaluator.evaluate(levels, {.threads = 1}, nullptr);
      check_equal(evaluator.evaluate(levels, {.threads = 1}, &execute::gpu_limits), cpu);
      const Evaluated small = evaluator.evaluate(levels, {.threads = 1}, &small_batches);
      check_equal(small, cpu);
      if (levels == 3) CHECK(small.counts.batches > 4);
    }
  }
}

TEST_CASE("a GPU can keep terms of equal value distinct and ignore symmetries of variables") {
  RowEvaluator evaluator(mixed_profile);
  for (const bool all_terms : {false, true}) {
    const LevelRunner::Options options{.threads = 1, .all_terms = all_terms, .no_symmetry = !all_terms};
    check_equal(evaluator.evaluate(2, options, &small_batches), evaluator.evaluate(2, options, nullptr));
  }
  check_equal(evaluator.evaluate(3, {.threads = 1, .all_terms = true}, &small_batches),
              evaluator.evaluate(3, {.threads = 1, .all_terms = true}, nullptr));
}

TEST_CASE("bytes uploaded to a GPU and downloaded are those of its records") {
  RowEvaluator evaluator(mixed_profile);
  const execute::GpuCounters counts = evaluator.evaluate(3, {.threads = 1}, &execute::gpu_limits).counts;
  CHECK(counts.uploaded_bytes ==
        64 * counts.tiles + 20 * counts.transient + 4 * counts.words + 2 * counts.renaming_words);
  CHECK(counts.downloaded_bytes == 40 * counts.minima);
  CHECK(counts.items > 2 * counts.minima);
}

}  // namespace rulemill::fingerprint
