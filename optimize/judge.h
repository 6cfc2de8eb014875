// A judge that trusts none of our definitions: onnxruntime runs both models in a helper process. It is asked where it
// can be had; see data/judges/onnxruntime_judge.py for what it compares.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optimize/verify.h"

namespace rulemill::optimize {

struct JudgeOptions {
  std::vector<std::string> command;  // starts the helper; none: onnxruntime is not asked
  std::uint32_t seeds = 3;
  Acceptance acceptance;
  std::map<std::string, std::vector<std::int64_t>> input_shapes;
  double seconds = 300;  // for one question
};

/// Nothing if it cannot be started; `why` then says so.
std::optional<Judgement> judge_by_onnxruntime(const std::filesystem::path& before, const std::filesystem::path& after,
                                              const JudgeOptions& options, std::string& why);

}  // namespace rulemill::optimize
