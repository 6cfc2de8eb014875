// End-to-end times of a model and of its candidates: run in turns, so that whatever else the machine does meets all of
// them alike. What counts is the ratio of two times of one round. A candidate is faster if the median of its ratios is
// above one by more than the noise, and so many of them are above one that chance does not do it. The model itself
// takes part twice: how much its two times differ is noise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace rulemill::optimize {

struct TimingOptions {
  bool wanted = false;
  std::vector<std::string> helper;  // starts onnxruntime's clock; none: nothing is timed
  std::string command;              // of the user's, instead: gets a model's path, prints milliseconds
  std::uint32_t threads = 1;        // of onnxruntime
  double seconds = 8;               // of running models; more where the fewest rounds take longer
  double patience = 120;            // seconds for one run of the command, or for all that the helper does
  std::map<std::string, std::vector<std::int64_t>> input_shapes;

  bool possible() const { return wanted && !(helper.empty() && command.empty()); }
};

/// Milliseconds of each model in each round, for one choice of the inputs' shapes. Models 0 and 1 are the model itself.
struct Rounds {
  std::string shapes;                             // "x 1x3x224x224"
  std::vector<std::vector<double>> milliseconds;  // by model, then round; none for one that cannot be run
};

struct Timed {
  std::string failure;          // why it could not be run
  double milliseconds = 0;      // median, at the first shapes
  double ratio = 0;             // times as fast as the model: the median over the rounds
  double lower = 0, upper = 0;  // quartiles of the ratio
  bool faster = false;          // by more than the noise, and nowhere slower
  std::vector<double> ratios;   // by round
};

struct Timing {
  std::string by;           // "onnxruntime 1.31.0, 1 thread"; empty if nothing was timed
  std::string absent;       // why nothing was timed
  bool broken = false;      // since the runtime failed on the models
  std::string shapes;       // that inputs had
  double milliseconds = 0;  // of the model: median, at the first shapes
  double noise = 0;         // share by which a ratio must differ from one
  std::size_t rounds = 0;
  std::vector<Timed> candidates;
};

/// The fewest rounds that can show anything: seven times faster by chance is less than one in a hundred.
inline constexpr std::size_t least_rounds = 7;
/// A smaller gain is within what another layout of memory does.
inline constexpr double least_noise = 0.01;

/// What times say of the candidates, models 2 and on.
Timing evaluate(std::span<const Rounds> rounds);

/// Whether one candidate is faster than another, of a choice between two results, by what makes one faster than the
/// model: the median of their rounds is above the noise, and chance does not do it.
bool surely_faster(const Timed& one, const Timed& other, double noise);

/// Times candidates against the model. Throws UsageError for a command of the user's that fails on the model, hangs, or
/// prints something else than one number.
Timing time_models(const std::filesystem::path& model, std::span<const std::filesystem::path> candidates,
                   const TimingOptions& options);

/// The user's command, if there is one, on the model alone: what is wrong with it is said before anything else is done.
void try_timing_command(const std::filesystem::path& model, const TimingOptions& options);

}  // namespace rulemill::optimize
