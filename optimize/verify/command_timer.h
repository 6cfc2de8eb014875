// The user's command (--benchmark-command), which gets the path of a model and prints the milliseconds of one run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "optimize/verify/model_timer.h"

namespace rulemill::optimize {

struct TimingCommand {
  std::string text;      // for the shell
  double timeout = 120;  // seconds, for one run
};

class CommandTimer final : public ModelTimer {
 public:
  /// `models` are the model and its candidates.
  CommandTimer(TimingCommand command, std::vector<std::filesystem::path> models)
      : command_(std::move(command)), models_(std::move(models)) {}

  std::string name() const override { return "'" + command_.text + "'"; }
  Opening open() override;
  Round time_round(std::span<const std::size_t> order, std::size_t turns, Copies copies) override;

 private:
  TimingCommand command_;
  std::vector<std::filesystem::path> models_;
};

/// Runs the command on the model. Throws UsageError if it fails or does not print one positive number.
double time_by_command(const TimingCommand& command, const std::filesystem::path& model);

}  // namespace rulemill::optimize
