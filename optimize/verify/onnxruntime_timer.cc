#include "optimize/verify/onnxruntime_timer.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

namespace {

using runtime::Json;

constexpr std::size_t max_turns_of_a_round = 9;
/// A run that takes this many times as long as expected counts as hanging.
constexpr double max_overrun_of_a_query = 20;

std::uint64_t total_bytes(const std::vector<std::filesystem::path>& models) {
  std::uint64_t bytes = 0;
  for (const auto& model : models) bytes += model_bytes_on_disk(model);
  return 2 * bytes;  // loaded ones and fresh copies
}

}  // namespace

OnnxruntimeTimer::OnnxruntimeTimer(OnnxruntimeTimerOptions options, std::vector<std::filesystem::path> models,
                                   RuntimeInputs inputs)
    : options_(std::move(options)),
      models_(std::move(models)),
      inputs_(std::move(inputs)),
      process_(options_.helper, total_bytes(models_), options_.runtime),
      runtime_name_(process_.name()) {}

std::string OnnxruntimeTimer::name() const {
  return fmt::format("{}, {} thread{}", runtime_name_, options_.threads, options_.threads == 1 ? "" : "s");
}

Json OnnxruntimeTimer::answer(const Json& query, double timeout) {
  std::optional<Json> answer;
  try {
    answer = process_.answer(query, timeout);
  } catch (const Json::exception&) {
    throw runtime::Error("", malformed_answer);
  }
  if (!answer) throw runtime::Error("", "its process ended: " + process_.end_reason());
  if (answer->contains("failure")) throw runtime::Error("", answer->at("failure").get<std::string>());
  return std::move(*answer);
}

ModelTimer::Opening OnnxruntimeTimer::open() {
  Json query = {{"model", std::filesystem::absolute(models_[0]).string()},
                {"runtime", options_.runtime},
                {"threads", options_.threads}};
  add_inputs(query, inputs_);
  Opening opening;
  opening.max_turns = max_turns_of_a_round;
  runtime::Stopwatch watch;
  try {
    const Json opened = answer(query, options_.timeout);
    runtime_name_ = process_.runtime_name(opened);
    opening.inputs = opened.at("inputs").get<std::vector<std::string>>();
    opening.load_seconds = opened.at("load_seconds");
    opening.run_seconds = opened.at("run_seconds");
    if (opening.inputs.empty()) throw runtime::Error("", malformed_answer);
    input_count_ = opening.inputs.size();
    opening.failures.emplace_back();
    open_seconds_ = watch.lap();
    for (std::size_t number = 1; number < models_.size(); ++number) {
      const Json loaded = answer({{"candidate", std::filesystem::absolute(models_[number]).string()}},
                                 std::max(options_.timeout, max_overrun_of_a_query * open_seconds_));
      opening.failures.push_back(loaded.at("reason").get<std::string>());
      open_seconds_ = std::max(open_seconds_, watch.lap());
    }
  } catch (const Json::exception&) {
    throw runtime::Error("", malformed_answer);
  }
  return opening;
}

ModelTimer::Round OnnxruntimeTimer::time_round(std::span<const std::size_t> order, std::size_t turns, Copies copies) {
  const double expected = open_seconds_ * static_cast<double>(order.size() * turns);
  try {
    const Json times = answer(
        {{"round", std::vector(order.begin(), order.end())}, {"turns", turns}, {"fresh", copies == Copies::Fresh}},
        std::max(options_.timeout, max_overrun_of_a_query * expected));
    Round round{times.at("milliseconds").get<std::vector<std::vector<double>>>(),
                std::vector<std::string>(order.size()), times.at("seconds").get<double>()};
    const bool is_complete =
        round.milliseconds.size() == order.size() && std::ranges::all_of(round.milliseconds, [&](const auto& row) {
          return row.size() == input_count_ && std::ranges::all_of(row, [](double time) { return time > 0; });
        });
    if (!is_complete) throw runtime::Error("", malformed_answer);
    return round;
  } catch (const Json::exception&) {
    throw runtime::Error("", malformed_answer);
  }
}

}  // namespace rulemill::optimize
