// onnxruntime, asked in a helper process of limited memory and time, where a Python has it; see data/judges.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/json_report.h"

namespace rulemill::optimize {

/// A helper of data/judges: it says its name, and answers one question.
struct RuntimeHelper {
  std::vector<std::string> command;  // none: it is not asked
  double seconds = 300;              // for the question
  std::uint64_t bytes = 0;           // of the models that it loads
};

struct RuntimeAnswer {
  std::string name;     // "onnxruntime 1.31.0"
  std::string failure;  // how its process ended instead of answering
  runtime::Json json;
};

/// Nothing if the helper cannot be started or does not speak; `why` then says so.
std::optional<RuntimeAnswer> ask_onnxruntime(const RuntimeHelper& helper, const runtime::Json& question,
                                             std::string& why);

/// Of a model's file and the file of its weights.
std::uint64_t bytes_on_disk(const std::filesystem::path& model);

}  // namespace rulemill::optimize
